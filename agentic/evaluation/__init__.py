"""Trying the service on files of cases: one module for each subject, one report for all."""
