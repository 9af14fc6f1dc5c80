"""Facts that code can compare: numbers, amounts, dates, times, identifiers, addresses, each in one canonical form."""
