"""Which models the settings name."""

import pytest

from agentic.llm.configured import WORKERS_AI_MODEL, configured_models


def test_nothing_set_means_no_model() -> None:
    assert configured_models({}) == (None, None)
    assert configured_models({"PM_AGENT_MODEL": "m", "PM_AGENT_API_TOKEN": "t", "PM_AGENT_BASE_URL": ""}) == (
        None,
        None,
    )


def test_an_account_alone_means_workers_ai_with_its_default_model() -> None:
    model, fallback = configured_models({"PM_CLOUDFLARE_ACCOUNT_ID": "acc1", "PM_AGENT_API_TOKEN": "t"})
    assert model is not None
    assert model.name == WORKERS_AI_MODEL
    assert fallback is None


@pytest.mark.parametrize("account", ["", "acc1"])
def test_a_fallback_is_a_second_model_at_the_same_place(account: str) -> None:
    model, fallback = configured_models(
        {
            "PM_AGENT_MODEL": "large",
            "PM_AGENT_FALLBACK_MODEL": "small",
            "PM_AGENT_BASE_URL": "http://127.0.0.1:1/v1",
            "PM_CLOUDFLARE_ACCOUNT_ID": account,
        }
    )
    assert model is not None
    assert fallback is not None
    assert (model.name, fallback.name) == ("large", "small")
