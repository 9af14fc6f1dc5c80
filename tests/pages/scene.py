"""A tenant with mail, runs of every kind, and people of every role who may look at them."""

from dataclasses import dataclass, field

from django.contrib.auth.models import User

from agentic.models import AgentPolicy, Sentence, WidenAttempt
from mailsearch.models import Permission
from mailsearch.sessions import Binding, bound
from tests.agentic.asking import asked
from tests.agentic.cast import ALL, House, house
from tests.pages.people import READER, person, principal
from tests.standins.scripted_model import ScriptedModel, answers, calls, declares

QUOTE = "we accept liability for the damage to the Golf"
TRUE = ("The insurer accepts liability for the damage to the Golf.", "accept liability", QUOTE)
FALSE = ("The repair was approved for 1,450 EUR.", "accept liability", "")
WIDENS = calls(("search", {"query": "Golf", "mailbox": "workshop"}))


@dataclass
class Scene:
    """Jo asks and administers, Ada audits and may read family@, Olga operates, Max is a member; Sue is elsewhere."""

    home: House
    jo: User
    ada: User
    olga: User
    max: User
    sue: User
    # Public ids of Jo's runs by what came of them.
    runs: dict[str, str] = field(default_factory=dict)

    @property
    def audit(self) -> Binding:
        return Binding(self.home.office.tenant.pk, audit=frozenset({self.home.office.tenant.pk}))

    def removed(self) -> int:
        """The number of a removed sentence."""
        with bound(self.audit):
            return int(Sentence.objects.filter(tenant=self.home.office.tenant, kept=False).latest("pk").pk)

    def attempt(self) -> int:
        """The number of the newest widen attempt."""
        with bound(self.audit):
            return int(WidenAttempt.objects.filter(tenant=self.home.office.tenant).latest("pk").pk)


def scene(*, runs: bool = True) -> Scene:
    home = house()
    tenant, family = home.office.tenant, (home.office.mailbox("family"),)
    # A slow machine must not turn an answer into a run that its seconds ended.
    AgentPolicy.objects.create(tenant=tenant, agentic_max_seconds=60)
    made = Scene(
        home=home,
        jo=person(tenant, "administrator", ALL, family, name="jo"),
        ada=person(tenant, "auditor", (Permission.SEARCH_READ,), family, name="ada"),
        olga=person(tenant, "operator", ALL, family, name="olga"),
        max=person(tenant, "member", READER, family, name="max"),
        sue=person(house().office.tenant, "administrator", ALL, name="sue"),
    )
    if runs:
        jo = principal(made.jo)
        made.runs["answered"] = asked(jo, ScriptedModel(WIDENS, answers(TRUE, FALSE)))["run_id"]
        made.runs["insufficient"] = asked(jo, ScriptedModel(declares()), "When is the garden party?")["run_id"]
    return made
