"""Which message a reply without references follows, by its subject: among those of the store and those that arrive.

Asked for what arrives, and for what such an arrival changes: a reply in the store follows the nearest message, so one
that arrives between the two takes its place. So the order of arrival makes no difference.
"""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta

from django.db.backends.utils import CursorWrapper

from mailsearch.ingest.drafts import Draft
from mailsearch.ingest.literals import array, bytes_array
from mailsearch.ingest.threads import NEAR, Letter, follows, is_lone_reply

# As the index of subjects has it. COALESCE could not be looked up there: Postgres holds it back for row-level security.
_AT = "CASE WHEN m.sent_at IS NULL THEN m.received_at ELSE m.sent_at END"
_OWN = "CASE m.rfc_message_id WHEN '' THEN encode(m.content_sha256, 'hex') ELSE m.rfc_message_id END"
# No reply or forward lacks a colon.
_ALONE = 'cardinality(m."references") + cardinality(m.in_reply_to) = 0'
_LONE = f"{_ALONE} AND m.subject ~ '[:：]'"
_POST = f"m.id, m.thread_id, {_OWN}, m.subject, m.subject_key, {_AT}, {_ALONE}"
# The nearest messages with the subject of `n` on one side, walked along in the index of subjects: however many share
# it, no more are looked at.
_ALONG = (
    f"SELECT n.number, found.* FROM unnest(%s::integer[], %s::bytea[], %s::timestamptz[], %s::timestamptz[])"  # noqa: S608
    f" AS n (number, key, at, bound), LATERAL (SELECT {_POST} FROM mailsearch_message m"
    " WHERE m.tenant_id = %s AND m.subject_key = n.key AND m.container_id IS NULL"
)
EARLIER = f"{_ALONG} AND {_AT} <= n.at AND {_AT} >= n.bound ORDER BY {_AT} DESC, m.id LIMIT %s) AS found"
LATER = f"{_ALONG} AND {_LONE} AND {_AT} >= n.at AND {_AT} <= n.bound ORDER BY {_AT}, m.id LIMIT %s) AS found"
_THESE = f"SELECT 0, {_POST} FROM mailsearch_message m WHERE m.id = ANY(%s::bigint[]) AND {_LONE}"  # noqa: S608
_MOST_CANDIDATES, _MOST_REPLIES = 50, 1_000
# The key of a subject, a moment, and the one at which a walk from there ends.
_Span = tuple[bytes, datetime, datetime]


@dataclass(frozen=True, slots=True)
class _Post:
    """A message with a subject. `place` is that in what arrives, `id` and `thread` are those of the store."""

    own: str
    key: bytes
    letter: Letter
    place: int = -1
    id: int = 0
    thread: int = 0

    @property
    def order(self) -> tuple[datetime, str]:
        return self.letter.at, self.own


def _away(moment: datetime, distance: timedelta) -> datetime:
    try:
        return moment + distance
    except OverflowError:
        return moment


def _follows(reply: _Post, post: _Post) -> bool:
    return reply.own != post.own and follows(reply.letter, post.letter)


@dataclass(frozen=True, slots=True)
class Followed:
    """Ids of the messages that replies follow: of those that arrive by place, of those in the store by id.

    `threads` hold replies of the store that follow what arrives.
    """

    arriving: Mapping[int, str]
    threads: frozenset[int]


@dataclass(slots=True)
class Subjects:
    """Asks for one batch. *tenant* is whose store it is."""

    cursor: CursorWrapper
    tenant: int
    here: dict[bytes, list[_Post]] = field(default_factory=dict)

    def add(self, drafts: Sequence[Draft]) -> None:
        """What arrives."""
        for place, one in enumerate(drafts):
            if one.subject_key:
                post = _Post(one.link.own, one.subject_key, one.letter, place)
                self.here.setdefault(post.key, []).append(post)
        for posts in self.here.values():
            posts.sort(key=lambda post: post.order)

    def of_arriving(self) -> Followed:
        """What the replies among those that arrive follow, and which threads an arrival changes."""
        arriving = [post for posts in self.here.values() for post in posts]
        # Once for each subject: reports of one all arrive again and again, and hardly any is answered.
        spans = [(key, posts[0].letter.at, _away(posts[-1].letter.at, NEAR)) for key, posts in self.here.items()]
        later = {post.id: post for _, post in self._ask(LATER, spans, _MOST_REPLIES)}
        replies = [post for post in arriving if is_lone_reply(post.letter)]
        replies += [post for post in later.values() if is_lone_reply(post.letter)]
        found = self._followed(replies)
        return Followed(
            {reply.place: other.own for reply, other in found if reply.place >= 0},
            frozenset(reply.thread for reply, other in found if reply.place < 0 and other.place >= 0),
        )

    def of_stored(self, ids: Collection[int]) -> dict[int, str]:
        """What the replies without references among the messages *ids* of the store follow."""
        if not ids:
            return {}
        self.cursor.execute(_THESE, [array(ids)])
        replies = [post for _, post in self._posts() if is_lone_reply(post.letter)]
        return {reply.id: other.own for reply, other in self._followed(replies)}

    def _followed(self, replies: Sequence[_Post]) -> list[tuple[_Post, _Post]]:
        before: dict[int, list[_Post]] = {}
        spans = [(reply.key, reply.letter.at, _away(reply.letter.at, -NEAR)) for reply in replies]
        for number, post in self._ask(EARLIER, spans, _MOST_CANDIDATES):
            before.setdefault(number, []).append(post)
        found = []
        for number, reply in enumerate(replies):
            # Each the nearest first.
            both = (before.get(number, []), reversed(self.here.get(reply.key, [])))
            nearest = [next((post for post in posts if _follows(reply, post)), None) for posts in both]
            if any(nearest):
                found.append((reply, max(filter(None, nearest), key=lambda post: post.order)))
        return found

    def _ask(self, query: str, spans: Sequence[_Span], most: int) -> list[tuple[int, _Post]]:
        """What *query* finds in each of *spans*, at *most* so many, with the span's number."""
        if not spans:
            return []
        asked = [
            array(range(len(spans))),
            bytes_array(key for key, _, _ in spans),
            array(start.isoformat() for _, start, _ in spans),
            array(bound.isoformat() for _, _, bound in spans),
        ]
        self.cursor.execute(query, [*asked, self.tenant, most])
        return self._posts()

    def _posts(self) -> list[tuple[int, _Post]]:
        rows = self.cursor.fetchall()
        people = self._people({id_ for _, id_, *_ in rows})
        return [
            (
                number,
                _Post(
                    own, bytes(key or b""), Letter(subject, people.get(id_, frozenset()), at, alone), -1, id_, thread
                ),
            )
            for number, id_, thread, own, subject, key, at, alone in rows
        ]

    def _people(self, messages: Collection[int]) -> dict[int, frozenset[str]]:
        """The addresses on each of *messages*."""
        if not messages:
            return {}
        self.cursor.execute(
            "SELECT message_id, array_agg(address) FROM mailsearch_participant"
            " WHERE message_id = ANY(%s::bigint[]) AND address <> '' GROUP BY message_id",
            [array(messages)],
        )
        return {message: frozenset(addresses) for message, addresses in self.cursor.fetchall()}
