"""A scope is resolved in one place, and whatever is done with it, it only narrows."""

from dataclasses import replace
from datetime import timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mailsearch.models import Folder, Grant
from mailsearch.scope import Scope, resolve
from tests.mailsearch.posting import START, Office

PAIRS = st.frozensets(st.tuples(st.integers(1, 6), st.integers(1, 3)))
MOMENTS = st.none() | st.integers(0, 9).map(lambda days: START + timedelta(days=days))
SCOPES = st.builds(Scope, st.integers(1, 2), PAIRS, MOMENTS, MOMENTS)


@given(SCOPES, SCOPES)
def test_what_two_scopes_share_is_in_both(one: Scope, other: Scope) -> None:
    both = one & other
    assert both.folders <= one.folders
    assert both.folders <= other.folders
    assert one.tenant == other.tenant or both.empty
    for scope in (one, other):
        assert scope.received_from is None or (both.received_from and both.received_from >= scope.received_from)
        assert scope.received_until is None or (both.received_until and both.received_until <= scope.received_until)


@given(SCOPES, st.frozensets(st.integers(1, 9)))
def test_naming_folders_or_mailboxes_never_adds_any(scope: Scope, ids: frozenset[int]) -> None:
    assert scope.within_folders(ids).folders <= scope.folders
    assert scope.within_mailboxes(ids).folders <= scope.folders
    assert scope.within_folders(frozenset()).empty


@given(SCOPES, SCOPES)
def test_versions_are_equal_for_equal_scopes_alone(one: Scope, other: Scope) -> None:
    assert (one.version == other.version) == (one == other)
    assert replace(one).version == one.version


@pytest.mark.django_db(transaction=True)
class TestResolving:
    def paths(self, grant: Grant) -> set[str]:
        scope = resolve(grant)
        return {f"{one.mailbox.slug}/{one.path}" for one in Folder.objects.filter(pk__in=scope.folder_ids)}

    def grant(self, office: Office, *, mailboxes: tuple[str, ...] = (), **more: bool) -> Grant:
        grant = Grant.objects.create(tenant=office.tenant, **more)
        grant.mailboxes.set([office.mailbox(one) for one in mailboxes])
        return grant

    def office(self) -> Office:
        office = Office()
        for mailbox in ("sales", "ann"):
            for path in ("INBOX", "Work", "Work/Old", "Workshop", "Trash"):
                office.folder(mailbox, path)
        return office

    def test_an_empty_grant_reads_nothing(self) -> None:
        assert self.paths(self.grant(self.office())) == set()

    def test_all_is_said_in_words_and_leaves_out_junk_and_trash(self) -> None:
        office = self.office()
        everything = self.paths(self.grant(office, all_mailboxes=True))
        assert everything == {
            f"{box}/{path}" for box in ("sales", "ann") for path in ("INBOX", "Work", "Work/Old", "Workshop")
        }
        assert "sales/Trash" in self.paths(self.grant(office, all_mailboxes=True, include_junk=True))

    def test_folders_below_are_included_only_where_the_grant_says_so(self) -> None:
        office = self.office()
        grant = self.grant(office)
        grant.folders.set([office.folder("sales", "Work")])
        assert self.paths(grant) == {"sales/Work"}
        grant.recursive = True
        assert self.paths(grant) == {"sales/Work", "sales/Work/Old"}

    def test_a_deleted_folder_takes_its_grant_along(self) -> None:
        office = self.office()
        grant = self.grant(office, recursive=True)
        grant.folders.set([office.folder("sales", "Work")])
        office.folder("sales", "Work").delete()
        assert self.paths(grant) == set()

    def test_mailboxes_of_another_tenant_grant_nothing(self) -> None:
        office, other = self.office(), self.office()
        grant = self.grant(office)
        grant.mailboxes.set([other.mailbox("sales")])
        grant.folders.set([other.folder("sales")])
        assert self.paths(grant) == set()
