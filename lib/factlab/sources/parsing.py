"""XML in, safely: no network, no external files, no entity expanded twice; errors name line and column."""

import html.entities
import re

from lxml import etree

from .files import SourceError, foreign_format


def parse(data: bytes, name: str) -> tuple[etree._Element, list[str]]:
    """Parse XML without network, external files or entity expansion; namespaces are dropped from tags.

    Parameters
    ----------
    data : bytes
    name : str
        For the messages.

    Returns
    -------
    root : lxml element
        Comments and processing instructions removed, named entities replaced by their characters.
    notes : list of str
        Entities that could not be replaced; they stand in the text as written.

    Raises
    ------
    SourceError
        Not well-formed XML.
    """
    if foreign := foreign_format(data):
        raise SourceError(f"{name}: this is {foreign}, not XML; save or download the article as JATS XML.")
    try:
        root = etree.fromstring(data, _parser())
    except etree.XMLSyntaxError as error:
        # 26 is XML_ERR_UNDECLARED_ENTITY: a fragment without DOCTYPE that uses &nbsp; and the like.
        repaired = _declare_entities(data) if error.code == 26 else data
        if repaired == data:
            raise _syntax_error(error, name) from error
        try:
            root = etree.fromstring(repaired, _parser())
        except etree.XMLSyntaxError as second:
            raise _syntax_error(second, name) from second
    notes = _replace_entities(root)
    for element in root.iter("*"):
        element.tag = element.tag.rpartition("}")[2]
    return root, notes


def _parser() -> etree.XMLParser:
    return etree.XMLParser(
        resolve_entities=False,
        no_network=True,
        load_dtd=False,
        dtd_validation=False,
        attribute_defaults=False,
        huge_tree=False,  # libxml2's limits against bombs (depth 256, 10 MB a text node) fit every real article
        remove_comments=True,
        remove_pis=True,
        remove_blank_text=False,
        recover=False,
    )


def _syntax_error(error: etree.XMLSyntaxError, name: str) -> SourceError:
    line, column = error.position
    return SourceError(
        f"{name}: not well-formed XML at line {line}, column {column}: {error.msg}. "
        "Is the file complete, and really XML? Download it again, or mend that place."
    )


def _declare_entities(data: bytes) -> bytes:
    def replace(match: re.Match) -> bytes:
        text = None if match[1] in (b"amp", b"lt", b"gt", b"quot", b"apos") else _named(match[1].decode())
        return match[0] if text is None else "".join(f"&#{ord(c)};" for c in text).encode()

    return re.sub(rb"&([A-Za-z][A-Za-z0-9]*);", replace, data)


def _named(name: str) -> str | None:
    """The characters of an ISO or HTML entity name; the two sets agree on the names that journals use."""
    return html.entities.html5.get(name + ";")


def _replace_entities(root: etree._Element) -> list[str]:
    """Put text for entity nodes. One declared in the file counts if it is plain text: nothing is expanded twice."""
    dtd = root.getroottree().docinfo.internalDTD
    declared = {e.name: e.content for e in dtd.iterentities()} if dtd is not None else {}
    kept = {}
    for node in list(root.iter(etree.Entity)):
        content = declared.get(node.name)
        text = html.unescape(content) if content and not re.search("[<&]", content) else None
        if node.name not in declared:
            text = _named(node.name)
        if text is None:
            text = f"&{node.name};"
            kept[text] = f"the entity {text} is not declared as plain text in the file; it stands as written"
        text += node.tail or ""
        parent, previous = node.getparent(), node.getprevious()
        if previous is None:
            parent.text = (parent.text or "") + text
        else:
            previous.tail = (previous.tail or "") + text
        node.tail = None
        parent.remove(node)
    return list(kept.values())
