"""The people of the tests: Jo may read the family's mail, Kim only the workshop's, Max is of another tenant."""

from dataclasses import dataclass
from datetime import UTC, datetime

from agentic.callers import Access, Principal, create_key, resolve_key
from mailsearch.models import ApiKey, Message, Permission, Thread
from mailsearch.sessions import Binding, bound
from tests.mailsearch.posting import Letter, Office

ACCEPTED = "Thank you for the photos; we accept liability for the damage to the Golf."
GOLF = Letter(
    f"Dear Ms Brandt,\n\n{ACCEPTED}\n\nKind regards\nClaims desk",
    subject="Golf, claim 77-4410",
    sender="Nordlicht claims desk <claims@nordlicht.example>",
    to=("jo@brandt.example",),
    received_at=datetime(2026, 3, 14, 8, 12, 7, tzinfo=UTC),
    dmarc="pass",
    links=(("the photos", "https://nordlicht.example/claims/77-4410"),),
)
GARDEN = Letter(
    "The roses are cut and the Golf club sends its regards.",
    subject="Garden",
    sender="Ann Abel <ann@abel.example>",
    to=("jo@brandt.example",),
    received_at=datetime(2026, 3, 10, 8, 0, tzinfo=UTC),
)
SECRET = Letter(
    "The workshop's safe code for the Golf spare key is 99-4471.",
    subject="Safe code",
    sender="Kim Wolf <kim@workshop.example>",
    to=("team@workshop.example",),
    received_at=datetime(2026, 3, 12, 8, 0, tzinfo=UTC),
)
ALL = tuple(Permission.values)


@dataclass(frozen=True)
class Caller:
    """A caller with its token."""

    key: ApiKey
    token: str
    principal: Principal

    @property
    def headers(self) -> dict[str, str]:
        return {"Authorization": f"Bearer {self.token}"}


@dataclass
class House:
    """A tenant with two mailboxes, `family` and `workshop`, and mail in both."""

    office: Office
    golf: Message
    garden: Message
    secret: Message

    def caller(
        self, *mailboxes: str, permissions: tuple[str, ...] = ALL, name: str = "Jo", all_mailboxes: bool = False
    ) -> Caller:
        access = Access(permissions, all_mailboxes, tuple(self.office.mailbox(one) for one in mailboxes))
        key, token = create_key(self.office.tenant, name, access)
        return Caller(key, token, resolve_key(token))

    def thread(self, message: Message) -> str:
        """The public id of a message's thread."""
        with bound(Binding(message.tenant_id)):
            return Thread.objects.get(pk=message.thread_id).public_id

    @property
    def jo(self) -> Caller:
        """Reads family@ alone."""
        return self.caller("family")

    @property
    def kim(self) -> Caller:
        """Reads workshop@ alone."""
        return self.caller("workshop", name="Kim")


def house() -> House:
    office = Office()
    golf, garden = office.post("family", GOLF, GARDEN)
    (secret,) = office.post("workshop", SECRET)
    return House(office, golf, garden, secret)
