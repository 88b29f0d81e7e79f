"""Folders of documents: what is read of each kind, what is left out and why, and that passages know where they stand."""

import gzip
import hashlib
import io

import pypdf
import pytest

from factlab import places
from factlab.sources import SourceError
from factlab.sources.corpus import chunk, counted, cut_sentences, read_corpus, without_references

JATS = (
    "<article><front><article-meta><article-id pub-id-type='pmc'>1</article-id><title-group><article-title>On veins</article-title>"
    "</title-group></article-meta></front><body><sec><title>Results</title><p>Veins run <italic>radially</italic>.</p></sec></body>"
    "<back><ref-list><ref><mixed-citation>Dawson 1916</mixed-citation></ref></ref-list></back></article>"
)
HTML = (
    "<html><head><title>On  rims</title><style>p {}</style><script>var x = 'no';</script></head><body><nav>Home</nav><h1>Rims</h1>"
    "<p>A rim is <b>dark</b> on<br>SWI.</p><ul><li>One</li><li>Two</li></ul><table><tr><th>T</th><td>3</td></tr></table>"
    "<footer>Imprint</footer></body></html>"
)


def pdf(*pages: str, title: str = "") -> bytes:
    """A PDF whose pages hold these lines of text; an empty one holds none."""
    writer = pypdf.PdfWriter()
    name = pypdf.generic.NameObject
    for text in pages:
        page = writer.add_blank_page(300, 300)
        font = pypdf.generic.DictionaryObject(
            {name("/Type"): name("/Font"), name("/Subtype"): name("/Type1"), name("/BaseFont"): name("/Helvetica")}
        )
        page[name("/Resources")] = pypdf.generic.DictionaryObject(
            {name("/Font"): pypdf.generic.DictionaryObject({name("/F1"): font})}
        )
        lines = "".join(f"({line}) Tj 0 -14 Td " for line in text.split("\n")) if text else ""
        stream = pypdf.generic.DecodedStreamObject()
        stream.set_data(f"BT /F1 12 Tf 20 250 Td {lines}ET".encode())
        page[name("/Contents")] = writer._add_object(stream)
    if title:
        writer.add_metadata({"/Title": title})
    held = io.BytesIO()
    writer.write(held)
    return held.getvalue()


@pytest.fixture
def folder(tmp_path):
    """One document of every kind, and one file for every reason to leave one out."""
    made = tmp_path / "sources"
    (made / "deep").mkdir(parents=True)
    (made / "a.md").write_text(
        "---\ntitle: 'On cords'\n---\n# Another heading\n\nThe cord is long.\n\n## References\n\n* Gass 2015\n"
    )
    (made / "b.txt").write_bytes("The n\u00e9rve is optic.".encode("cp1252"))
    (made / "c.html").write_text(HTML)
    (made / "d.pdf").write_bytes(
        pdf("Lesions show dissemi-\nnation in space and in time,\nas is known to everyone.", title="On space")
    )
    (made / "deep" / "e.nxml").write_text(JATS)
    (made / "f.xml.gz").write_bytes(
        gzip.compress(JATS.replace("On veins", "On zipped veins").replace("radially", "straight").encode())
    )
    (made / "g.docx").write_bytes(b"PK\x03\x04 nothing")
    (made / "h.md").write_text(" \n ")
    (made / "i.txt").write_bytes("The n\u00e9rve is optic.".encode())
    (made / "j.xml").write_text("<notes>no article</notes>")
    (made / "k.pdf").write_bytes(pdf("", ""))
    (made / "l.pdf").write_bytes(b"%PDF-1.4 and then nothing of the kind")
    (made / "m.txt").write_bytes(pdf("x"))
    (made / ".hidden.md").write_text("Not seen.")
    return made


def test_every_kind_is_read(folder):
    documents, _ = read_corpus(folder)
    found = {d.file: d for d in documents}
    assert list(found) == ["a.md", "b.txt", "c.html", "d.pdf", "deep/e.nxml", "f.xml.gz"]
    assert [d.title for d in documents] == ["On cords", "b", "On rims", "On space", "On veins", "On zipped veins"]
    assert [d.kind for d in documents] == ["Markdown", "text", "HTML", "PDF", "JATS", "JATS"]
    assert found["a.md"].text.endswith("The cord is long.\n")
    assert found["c.html"].text == "Rims\n\nA rim is dark on SWI.\n\n- One\n\n- Two\n\nT | 3"
    assert found["d.pdf"].text.startswith("Lesions show dissemination in space")
    assert found["deep/e.nxml"].text == "Veins run radially."


@pytest.mark.parametrize(
    ("file", "why"),
    [
        ("g.docx", "no kind that is read"),
        ("h.md", "the file is empty"),
        ("i.txt", "the same text as b.txt"),
        ("j.xml", "no JATS article"),
        ("k.pdf", "2 pages with text: pictures"),
        ("l.pdf", "no PDF that can be read"),
        ("m.txt", "this is a PDF file, whatever its name says"),
    ],
)
def test_what_is_left_out_says_why(folder, file, why):
    documents, manifest = read_corpus(folder)
    row = manifest.set_index("file").loc[file]
    assert not row["included"] and why in row["why"] and str(folder) not in row["why"]
    assert file not in [d.file for d in documents]
    assert manifest["included"].sum() == len(documents) and ".hidden.md" not in set(manifest["file"])


def test_remarks_and_hashes(folder):
    documents, manifest = read_corpus(folder)
    rows = manifest.set_index("file")
    assert "Windows-1252" in rows.at["b.txt", "note"]
    assert rows.at["a.md", "sha256"] == hashlib.sha256(documents[0].text.encode()).hexdigest()
    assert rows.at["a.md", "chars"] == len(documents[0].text)


def test_a_locked_pdf_is_left_out(tmp_path):
    writer = pypdf.PdfWriter(clone_from=io.BytesIO(pdf("Secret")))
    writer.encrypt("word", algorithm="RC4-128")
    with (tmp_path / "s.pdf").open("wb") as file:
        writer.write(file)
    _, manifest = read_corpus(tmp_path)
    assert manifest["why"].tolist() == ["it is locked with a password; save a copy without."]


def test_a_person_decides(folder, tmp_path):
    table = tmp_path / "decided.csv"
    table.write_text("file,title,included,why\na.md,The cord,,\nc.html,,no,too old\nz.pdf,Gone,yes,\n")
    documents, manifest = read_corpus(folder, table)
    rows = manifest.set_index("file")
    assert documents[0].title == "The cord"
    assert rows.at["c.html", "why"] == "too old" and not rows.at["c.html", "included"]
    assert "not in the folder" in rows.at["z.pdf", "why"]


def test_only_some(folder):
    documents, manifest = read_corpus(folder, only=["c.html", "deep/e.nxml"])
    assert [d.file for d in documents] == ["c.html", "deep/e.nxml"]
    assert manifest.set_index("file").at["a.md", "why"] == "not among the files asked for"
    with pytest.raises(SourceError, match=r"did you mean 'a\.md'"):
        read_corpus(folder, only=["a.mdx"])


@pytest.mark.parametrize(
    ("rows", "said"), [("a.md,perhaps", "expected yes or no"), ("a.md,yes\na.md,no", "stands there twice")]
)
def test_a_manifest_that_cannot_be_used(folder, tmp_path, rows, said):
    table = tmp_path / "decided.csv"
    table.write_text(f"file,included\n{rows}\n")
    with pytest.raises(SourceError, match=said):
        read_corpus(folder, table)


def test_folders_that_cannot_be_used(tmp_path):
    with pytest.raises(SourceError, match="no document in this folder"):
        read_corpus(tmp_path)
    with pytest.raises(SourceError, match="no such file"):
        read_corpus(tmp_path / "nowhere")
    with pytest.raises(SourceError, match="keep"):
        read_corpus(tmp_path, references="drop")


@pytest.mark.parametrize(
    "heading", ["## References", "REFERENCES", "**Bibliography**", "References\n----------", "7. References"]
)
def test_references_go(heading):
    body = "Something is known of veins. " * 3
    assert without_references(f"{body}\n\n{heading}\n\n* Dawson 1916\n") == body.rstrip() + "\n"


@pytest.mark.parametrize(
    "text", ["References\n\n1. Veins .... 3\n\n" + "Veins run. " * 20, "Veins. " * 9 + "\nSee references below."]
)
def test_what_is_no_list_of_references_stays(text):
    assert without_references(text) == text


@pytest.mark.parametrize("whole", [False, True])
def test_passages_know_where_they_stand(whole):
    documents, manifest = read_corpus(places.samples("ms_exam_gen", "sources"))
    chunks = chunk(documents, whole_sentences=whole)
    texts = {d.file: d.text for d in documents}
    assert chunks["chunk_id"].is_unique and chunks["text"].str.len().max() <= 1200
    for row in chunks.itertuples():
        assert texts[row.file][row.start : row.end] == row.text
        assert row.sha256 == hashlib.sha256(row.text.encode()).hexdigest()
    assert counted(manifest, chunks)["chunks"].sum() == len(chunks)
    assert list(chunk([])) == list(chunks)


def test_cut_sentences():
    (document,), _ = read_corpus(places.samples("ms_exam_gen", "sources", "mimics.md"))
    split, every = cut_sentences([document], chunk([document], 300, 0))
    assert 5 < split < every
    assert cut_sentences([document], chunk([document], 600, 100, whole_sentences=True))[0] == 0


@pytest.mark.released
def test_articles_of_pubmed_central(released):
    documents, manifest = read_corpus(released / "pmc")
    assert len(documents) == len(manifest) == 13 and set(manifest["kind"]) == {"JATS"}
    chunks = chunk(documents)
    assert len(chunks) == 367 and cut_sentences(documents, chunks) == (42, 2117)


def test_a_stray_zero_byte_gets_into_no_passage(tmp_path):
    text = b"# Lesions\n" + b"Veins run through most lesions. " * 40 + b"\nA\x00B.\n"
    (tmp_path / "late.txt").write_bytes(text)
    (tmp_path / "binary.txt").write_bytes(b"\x00\x01" * 20)
    (tmp_path / "gone.md").symlink_to(tmp_path / "nowhere.md")
    documents, manifest = read_corpus(tmp_path)
    assert [d.file for d in documents] == ["late.txt"] and "A B." in documents[0].text
    told = manifest.set_index("file")
    assert told.at["late.txt", "note"] == "1 zero byte (first in line 3) read as blank"
    assert "zero bytes" in told.at["binary.txt", "why"] and "no such file" in told.at["gone.md", "why"]
