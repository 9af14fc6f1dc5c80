"""Facts that code can compare: numbers, amounts, dates, times, identifiers and addresses, each in one canonical form."""
