"""`manage.py audit_verify`: prove that the audit is as it was written, or name what is not."""

from argparse import ArgumentParser
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand, CommandError

from agentic import anchors
from agentic.anchors import Anchor
from agentic.management.commands.create_tenant import tenant_of
from agentic.proving import Proof, prove
from mailsearch.models import Tenant

DIFFERS, BAD_INPUT = 1, 2


class Command(BaseCommand):
    """Reads every row of the audit and writes nothing to the database."""

    help = (
        "Compute the hash chains of the audit again and look at its signatures. Names what was changed, is missing, was"
        " cut off or reordered. Exit: 0 all is as it was written, 1 something is not, 2 bad input."
    )

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("--tenant", default="", metavar="SLUG", help="only this tenant (default: all)")
        parser.add_argument("--anchor", type=Path, metavar="FILE", help="where the chains stood before")
        parser.add_argument(
            "--write-anchor", type=Path, metavar="FILE", help="keep where they stand now, if all is as it was written"
        )

    def handle(self, *args: Any, **options: Any) -> None:
        known, tenants = _given(options["anchor"], options["tenant"])
        proofs = [Proof(tenant) for tenant in tenants]
        found = sum(self._prove(proof, known.get(proof.tenant.slug)) for proof in proofs)
        for gone in sorted(set(known) - {tenant.slug for tenant in tenants}) if not options["tenant"] else ():
            self.stdout.write(f"{gone}: the tenant is gone, as the anchor knows")
            found += 1
        self.stdout.write(_summary(proofs, found))
        if found:
            raise SystemExit(DIFFERS)
        if options["write_anchor"]:
            self._write(options["write_anchor"], proofs)

    def _prove(self, proof: Proof, anchor: Anchor | None) -> int:
        if anchor is not None:
            proof.wanted[anchor.number] = None
        count = 0
        for count, finding in enumerate(prove(proof), start=1):  # noqa: B007 - the last one is how many there were
            self.stdout.write(f"{proof.tenant.slug}: {finding}")
        for finding in anchors.compare(anchor, proof) if anchor else ():
            self.stdout.write(f"{proof.tenant.slug}: {finding}")
            count += 1
        return count

    def _write(self, path: Path, proofs: list[Proof]) -> None:
        try:
            anchors.write(path, proofs)
        except OSError as error:
            raise CommandError(f"{path} can't be written: {error.strerror}.", returncode=BAD_INPUT) from error
        self.stdout.write(f"Where the chains stand is in {path}; keep it out of the database's reach.")


def _given(anchor: Path | None, slug: str) -> tuple[Mapping[str, Anchor], list[Tenant]]:
    try:
        known = anchors.read(anchor) if anchor else {}
        return known, [tenant_of(slug)] if slug else list(Tenant.objects.order_by("slug"))
    except anchors.UnreadableAnchor as error:
        raise CommandError(str(error), returncode=BAD_INPUT) from error
    except CommandError as error:
        raise CommandError(str(error), returncode=BAD_INPUT) from error


def _summary(proofs: list[Proof], found: int) -> str:
    def total(name: str) -> int:
        return sum(getattr(proof, name) for proof in proofs)

    aside = [
        f"{total('open_runs')} runs under way" if total("open_runs") else "",
        f"{total('unsealed')} rows not sealed yet" if total("unsealed") else "",
        f"the words of {total('without_words')} rows erased on record" if total("without_words") else "",
    ]
    looked = f"{len(proofs)} tenants, {total('runs')} runs, {total('rows')} rows, {total('entries')} entries" + "".join(
        f"; {one}" for one in aside if one
    )
    return f"{looked}. " + (f"{found} findings." if found else "All is as it was written.")
