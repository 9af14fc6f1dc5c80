"""Names of currencies, powers of ten and units of measure, read once from units.toml."""

import tomllib
from importlib import resources

_TABLES: dict[str, dict[str, str]] = tomllib.loads(
    resources.files(__package__).joinpath("units.toml").read_text(encoding="utf-8")
)


def _by_word(table: str) -> dict[str, str]:
    return {word.replace("_", " "): name for name, words in _TABLES[table].items() for word in words.split()}


# Canonical names by the words that people write.
CURRENCIES = _by_word("currencies")
UNITS = _by_word("units")
# Powers of ten by the words and letters for them.
SCALES = {word: int(power) for word, power in _by_word("scales").items()}
