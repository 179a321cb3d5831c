"""Packs Java plugins as a bundle: a zip file with their jars, the hashes of all files, and a bill of materials."""

from __future__ import annotations

import hashlib
import io
from collections.abc import Sequence
from functools import partial
from pathlib import Path

from hearth.discovery.bundle import hash_of, plain_name
from hearth.discovery.core_metadata import CoreMetadata
from hearth.discovery.java.hub_manifest import HUB_MANIFEST, HubManifest, hub_manifest_text
from hearth.discovery.java.java_bundle import JavaBundle
from hearth.discovery.manifest import BILL_OF_MATERIALS, JAVA, MANIFEST, Manifest, PackedFile
from hearth.discovery.refusal import BundleError
from hearth.foundation.user_file import replacing
from hearth.packaging.bill_of_materials import bill_of_materials
from hearth.packaging.zip_file import zip_bundle


def pack_java(bundle: JavaBundle, out: Path) -> Path:
    """Pack Java plugins of any form; return the path, a file in ``out``, or ``out`` itself if it ends with .zip.

    The bundle has the name and version of Confluent Hub's manifest, else those of its only jar, else of its file.
    Raises ``BundleError`` for one that is packed already.
    """
    if bundle.hashes is not None:
        raise BundleError(f"{bundle.location} is packed already", hint="install it, or sign it")
    parts = list(bundle.packages())
    only = parts[0] if len(parts) == 1 and parts[0].version else None
    name, version = (only.name.rpartition(":")[2], only.version) if only else (bundle.name, bundle.version)
    hub = bundle.hub or HubManifest(name, version, "", "", only.licence if only else "")
    own = only or CoreMetadata(
        "", hub.name, hub.version, licence=hub.licence, purl=f"pkg:generic/{hub.name}@{hub.version}"
    )
    return write_java(bundle, out, hub, own, parts)


def write_java(
    bundle: JavaBundle, out: Path, hub: HubManifest, own: CoreMetadata, parts: Sequence[CoreMetadata]
) -> Path:
    """Write a bundle with the name of a manifest in Confluent Hub's form; equal files give equal bytes.

    ``own`` is what has the plugins, one of the parts or all of them.
    """
    with bundle.opener() as tree:
        paths = {bundle.relative(path): path for path in tree.walk(bundle.top)}
        files = {name: PackedFile(name, hash_of(tree, path), tree.size(path)) for name, path in paths.items()}
    bill = bill_of_materials(own, parts, {name: each.sha256 for name, each in files.items()})
    texts = (
        {BILL_OF_MATERIALS: bill}
        if HUB_MANIFEST in files
        else {BILL_OF_MATERIALS: bill, HUB_MANIFEST: hub_manifest_text(hub)}
    )
    files |= {name: _packed_text(name, text.encode()) for name, text in texts.items()}
    listed = tuple(files[name] for name in sorted(files))
    texts[MANIFEST] = Manifest(hub.name, hub.version, "", listed, (), JAVA).to_text()
    is_file = out.suffix == ".zip" and not out.is_dir()
    target = out if is_file else out / f"{plain_name(hub.name)}-{hub.version}.zip"
    with replacing(target) as fresh:
        zip_bundle(bundle, fresh, {name: partial(io.BytesIO, text.encode()) for name, text in texts.items()})
    return target


def _packed_text(name: str, content: bytes) -> PackedFile:
    return PackedFile(name, hashlib.sha256(content).hexdigest(), len(content))
