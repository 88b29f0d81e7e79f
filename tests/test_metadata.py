"""Looking up metadata, against a server on this machine whose answers were made up for these tests. No network is used."""

import contextlib
import json
import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import parse_qs, urlsplit

import pytest

from factlab import attribution, sources
from factlab.sources import metadata

PAPERS = {
    "2101.00001": ("On the Counting of Sheep", ["Ada Wool", "Ben Fleece"], "2021", "Journal of Naps 3 (2021)"),
    "2101.00002": ("Schrödinger's Duck: A Quacking\n  Approach", ["Cleo Pond"], "2021", ""),
    "cs/0501001": ("Old Numbers Still Work", ["Dan Archive"], "2005", ""),
}
LICENCE = "http://creativecommons.org/licenses/by/4.0/"


def entry(number):
    title, authors, year, venue = PAPERS[number]
    people = "".join(f"<author><name>{name}</name></author>" for name in authors)
    journal = (
        f'<arxiv:journal_ref xmlns:arxiv="http://arxiv.org/schemas/atom">{venue}</arxiv:journal_ref>' if venue else ""
    )
    return (
        f"<entry><id>http://arxiv.org/abs/{number}v2</id><published>{year}-01-03T00:00:00Z</published><title>{title}</title>"
        f"<summary> All about it,\n in two lines. </summary>{people}{journal}</entry>"
    )


def feed(*entries):
    return (
        '<?xml version="1.0" encoding="UTF-8"?><feed xmlns="http://www.w3.org/2005/Atom"><title>query</title>'
        f"<id>http://arxiv.org/api/x</id>{''.join(entries)}</feed>"
    )


def scholar(title, authors=("Eve Graph",), **more):
    names = [{"authorId": "1", "name": name} for name in authors]
    return {"title": title, "authors": names, "abstract": None, "venue": "Made-up Letters", "year": 2019, **more}


class Services:
    """arXiv, its OAI-PMH and Semantic Scholar on a loopback port. `before`: (status, headers, body) answered first, in turn."""

    def __init__(self):
        self.seen, self.before, self.by_title, self.by_id = [], [], {}, {}
        outer = self

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self):
                outer.answer(self, None)

            def do_POST(self):
                outer.answer(self, json.loads(self.rfile.read(int(self.headers["Content-Length"]))))

            def log_message(self, *arguments):
                pass

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        threading.Thread(target=self.server.serve_forever, args=(0.01,), daemon=True).start()
        base = f"http://127.0.0.1:{self.server.server_port}"
        self.urls = {"arxiv": f"{base}/api", "semantic_scholar": f"{base}/graph", "arxiv_licences": f"{base}/oai"}

    def answer(self, handler, body):
        address = urlsplit(handler.path)
        query = {name: values[0] for name, values in parse_qs(address.query).items()}
        self.seen.append((address.path, query, body, dict(handler.headers), time.monotonic()))
        status, headers, text = self.before.pop(0) if self.before else self.usual(address.path, query, body)
        handler.send_response(status)
        for name, value in headers.items():
            handler.send_header(name, value)
        data = text.encode()
        handler.send_header("Content-Length", str(len(data)))
        with contextlib.suppress(BrokenPipeError, ConnectionResetError):  # the client did not wait
            handler.end_headers()
            handler.wfile.write(data)

    def usual(self, path, query, body):
        if path == "/api" and "id_list" in query:
            numbers = query["id_list"].split(",")
            if "0000.00000" in numbers:
                error = "<entry><id>http://arxiv.org/api/errors#incorrect_id</id><title>Error</title><summary>incorrect id format</summary></entry>"
                return 200, {}, feed(error)
            return 200, {}, feed(*[entry(n) for n in numbers if n in PAPERS])
        if path == "/api":
            wanted = query["search_query"].removeprefix('ti:"').rstrip('"').casefold()
            hits = [
                n for n, (title, *_) in PAPERS.items() if wanted in " ".join(title.replace("'", " ").casefold().split())
            ]
            return 200, {}, feed(*map(entry, hits))
        if path == "/oai":
            number = query["identifier"].removeprefix("oai:arXiv.org:")
            inside = f"<record><metadata><arXiv xmlns='http://arxiv.org/OAI/arXiv/'><id>{number}</id><license>{LICENCE}</license></arXiv></metadata></record>"
            return (
                200,
                {},
                f"<OAI-PMH xmlns='http://www.openarchives.org/OAI/2.0/'><GetRecord>{inside}</GetRecord></OAI-PMH>",
            )
        if path == "/graph/paper/batch":
            found = [self.by_id.get(name) for name in body["ids"]]
            return (200, {}, json.dumps(found)) if any(found) else (400, {}, '{"error": "No valid paper ids given"}')
        if query["query"] in self.by_title:
            return 200, {}, json.dumps({"data": [self.by_title[query["query"]]]})
        return 404, {}, '{"error": "Title match not found"}'


@pytest.fixture
def services(monkeypatch):
    monkeypatch.setenv("no_proxy", "127.0.0.1")
    running = Services()
    yield running
    running.server.shutdown()
    running.server.server_close()


def look(server, entries, **settings):
    settings = {"urls": server.urls, "pauses": dict.fromkeys(metadata.URLS, 0), "timeout": 5} | settings
    return sources.look_up(entries, **settings)


SHEEP = {
    "cited_title": "On the counting of sheep",
    "cited_authors": "A. Wool; B. Fleece",
    "cited_year": "2022",
    "cited_id": "2101.00001",
}


def test_by_arxiv_number_many_in_one_request(services):
    duck = {
        "cited_title": r"Schr\"{o}dinger's duck: a quacking approach",
        "cited_authors": "Cleo Pond",
        "cited_id": "arXiv:2101.00002v1",
    }
    old = {"cited_title": "Old Numbers Still Work", "cited_authors": ["Someone Else"], "cited_id": "cs/0501001"}
    found = look(services, [SHEEP, duck, old, SHEEP], same_title=attribution.same_title, services=["arxiv"])
    assert found["verdict"].tolist() == ["exact", "exact", "title only", "exact"]
    assert found["first_author"].tolist() == ["yes", "yes", "no", "yes"]
    sheep = found.iloc[0]
    assert sheep[["title", "authors", "year", "venue"]].tolist() == [
        "On the Counting of Sheep",
        "Ada Wool; Ben Fleece",
        "2021",
        "Journal of Naps 3 (2021)",
    ]
    assert sheep["abstract"] == "All about it, in two lines." and sheep["arxiv_id"] == "2101.00001"
    assert (sheep["same_year"], sheep["found_by"], sheep["service"]) == ("no", "arxiv id", "arxiv")
    assert [query.get("id_list") for _, query, *_ in services.seen] == ["2101.00001,2101.00002,cs/0501001"]


def test_a_second_look_sends_nothing_and_one_more_work_sends_one(services, tmp_path):
    cache = tmp_path / "new" / "metadata.sqlite"
    entries = [
        SHEEP,
        {"cited_title": "Nobody Wrote This"},
        {"cited_title": "Known to the Graph", "cited_authors": "Eve Graph"},
    ]
    services.by_title["Known to the Graph"] = scholar("Known to the Graph")
    first = look(services, entries, cache=cache, licences=True)
    assert first["verdict"].tolist() == ["exact", "not found", "exact"]
    asked = len(services.seen)
    assert asked == 1 + 2 + 2 + 1  # sheep by number; two titles at arXiv, then at Semantic Scholar; one licence
    second = look(services, entries, cache=cache, licences=True)
    assert second.equals(first) and len(services.seen) == asked
    look(
        services,
        [*entries, SHEEP | {"cited_id": "2101.00002", "cited_title": "Schrodinger's duck: a quacking approach"}],
        cache=cache,
    )
    assert [query["id_list"] for _, query, *_ in services.seen[asked:] if "id_list" in query] == ["2101.00002"]


def test_by_title_and_what_is_nearest(services):
    services.by_title["Grazing at Scale"] = scholar("Grazing at Scale, Revisited")
    found = look(services, [{"cited_title": "On the Counting of Sheep"}, {"cited_title": "Grazing at Scale"}])
    assert found["verdict"].tolist() == ["title only", "differs"]
    assert found["title"].tolist() == ["On the Counting of Sheep", "Grazing at Scale, Revisited"]
    assert found["found_by"].tolist() == ["title", "title"] and found["first_author"].tolist() == ["", ""]


def test_a_wrong_number_is_told_from_the_right_title(services):
    wrong = SHEEP | {"cited_id": "2101.00002"}
    found = look(services, [wrong], services=["arxiv"]).iloc[0]
    assert (found["verdict"], found["arxiv_id"], found["found_by"]) == ("exact", "2101.00001", "title")
    lost = look(services, [wrong | {"cited_title": "Another Work"}], services=["arxiv"]).iloc[0]
    assert (lost["verdict"], lost["title"]) == ("differs", "Schrödinger's Duck: A Quacking Approach")


def test_by_doi(services):
    services.by_id["DOI:10.1000/xyz"] = scholar(
        "Known by DOI", externalIds={"DOI": "10.1000/xyz", "ArXiv": "2101.00009"}
    )
    entries = [
        {
            "cited_title": "Known by DOI",
            "cited_authors": "E. Graph",
            "cited_year": "2019",
            "cited_id": "doi:10.1000/xyz",
        }
    ]
    entries.append({"cited_title": "Unknown by DOI", "cited_doi": "10.1000/none"})
    found = look(services, entries, services=["semantic_scholar"])
    assert found["verdict"].tolist() == ["exact", "not found"]
    assert found.iloc[0][["doi", "arxiv_id", "venue", "same_year", "abstract"]].tolist() == [
        "10.1000/xyz",
        "2101.00009",
        "Made-up Letters",
        "yes",
        "",
    ]
    assert services.seen[0][2] == {"ids": ["DOI:10.1000/xyz", "DOI:10.1000/none"]}
    none = look(services, entries[1:], services=["semantic_scholar"])  # the whole batch is unknown: a 400
    assert none["verdict"].tolist() == ["not found"]


def test_licences(services, tmp_path):
    assert look(services, [SHEEP], licences=True)["licence"].tolist() == [LICENCE]
    settings = {"urls": services.urls, "pauses": {"arxiv_licences": 0}, "cache": tmp_path / "m.sqlite"}
    table = sources.look_up_licences(["2101.00001", "no number", "2101.00001"], **settings)
    assert table.to_dict("list") == {
        "arxiv_id": ["2101.00001", "no number"],
        "licence": [LICENCE, ""],
        "error": ["", ""],
    }
    asked = len(services.seen)
    sources.look_up_licences(["2101.00001"], **settings)
    assert len(services.seen) == asked


@pytest.mark.parametrize(
    "busy",
    [
        (429, {"Retry-After": "0"}, "slow down"),
        (503, {}, "busy"),
        (200, {}, "Rate exceeded."),
        (500, {"Retry-After": "soon"}, ""),
    ],
)
def test_busy_services_are_asked_again(services, busy):
    services.before += [busy, busy]
    found = look(services, [SHEEP], services=["arxiv"])
    assert found["verdict"].tolist() == ["exact"] and len(services.seen) == 3


def test_the_wait_that_a_service_asks_for_is_kept(services):
    services.before.append((429, {"Retry-After": "1"}, ""))
    look(services, [SHEEP], services=["arxiv"])
    assert services.seen[1][4] - services.seen[0][4] >= 0.95


def test_a_service_that_stays_busy_is_given_up_and_the_other_helps(services, tmp_path):
    services.before += [(429, {"Retry-After": "0"}, "slow down")] * 3
    services.by_id["ARXIV:2101.00001"] = scholar("On the Counting of Sheep", ["Ada Wool"])
    entries = [SHEEP, {"cited_title": "Nobody Wrote This"}]
    found = look(services, entries, retries=2, cache=tmp_path / "m.sqlite")
    assert found["verdict"].tolist() == ["exact", "error"]  # not "not found": arXiv was not heard
    assert found["service"].tolist() == ["semantic_scholar", ""]
    assert all("429" in error and "slow down" in error for error in found["error"])
    assert [path for path, *_ in services.seen] == ["/api"] * 3 + ["/graph/paper/batch", "/graph/paper/search/match"]
    again = look(services, entries, cache=tmp_path / "m.sqlite")  # the failure was not kept
    assert again["verdict"].tolist() == ["exact", "not found"] and again["service"][0] == "arxiv"


def test_a_refused_key_is_not_tried_again(services):
    services.before += [(403, {}, "Forbidden")]
    found = look(
        services, [{"cited_title": "One"}, {"cited_title": "Two"}], services=["semantic_scholar"], key="secret"
    )
    assert found["verdict"].tolist() == ["error", "error"] and len(services.seen) == 1
    assert services.seen[0][3]["x-api-key"] == "secret" and "secret" not in " ".join(found["error"])


def test_the_key_goes_to_its_service_alone(services):
    look(services, [SHEEP, {"cited_title": "None"}], key="secret", contact="me@example.org", licences=True)
    for path, _, _, headers, _ in services.seen:
        assert ("x-api-key" in headers) == path.startswith("/graph"), path
        assert headers["User-Agent"].startswith("factlab/") and "me@example.org" in headers["User-Agent"]


def test_one_bad_number_spoils_no_other(services):
    bad = {"cited_title": "Bad Number", "cited_id": "0000.00000"}
    found = look(
        services,
        [SHEEP, bad, SHEEP | {"cited_id": "2101.00002", "cited_title": "Schrodinger's Duck: a quacking approach"}],
        services=["arxiv"],
    )
    assert found["verdict"].tolist()[0] == "exact" and found["title"].tolist()[2].startswith("Schrödinger")
    assert found["verdict"].tolist()[1] == "error" and "incorrect id format" in found["error"][1]


@pytest.mark.parametrize("body", ["<html><body>Sign in to this hotel's network<br></body>", '{"a": ', ""])
def test_answers_that_are_none(services, body):
    services.before += [(200, {}, body)]
    found = look(services, [SHEEP], services=["arxiv"])
    assert found["verdict"].tolist() == ["error"] and "expected" in found["error"][0]


def test_entities_are_not_expanded(services, tmp_path):
    (tmp_path / "secret").write_text("secret words")
    evil = feed(entry("2101.00001").replace("On the Counting", "&leak; On the Counting"))
    evil = evil.replace("<feed", f'<!DOCTYPE feed [<!ENTITY leak SYSTEM "file://{tmp_path}/secret">]><feed', 1)
    services.before.append((200, {}, evil))
    found = look(services, [SHEEP], services=["arxiv"])
    assert "secret words" not in found["title"][0] + found["error"][0]


def test_the_pause_between_requests(services):
    entries = [{"cited_title": f"Title number {i}"} for i in range(3)]
    look(services, entries, services=["arxiv"], pauses=dict.fromkeys(metadata.URLS, 0.2))
    times = [seen[4] for seen in services.seen]
    assert len(times) == 3 and all(b - a >= 0.19 for a, b in zip(times, times[1:], strict=False))
    assert metadata.PAUSES["arxiv"] >= 3


def test_no_network_is_said_to_people(services, tmp_path):
    look(services, [SHEEP], cache=tmp_path / "m.sqlite")
    services.server.shutdown()
    services.server.server_close()
    with pytest.raises(sources.SourceError, match="could not be reached.*Is there a network"):
        look(services, [{"cited_title": "Anything"}, {"cited_title": "Else"}])
    with pytest.raises(sources.SourceError, match="Is there a network"):
        sources.look_up_licences(["2101.00001"], urls=services.urls, pauses={"arxiv_licences": 0})
    kept = look(
        services, [SHEEP, {"cited_title": "Anything"}], cache=tmp_path / "m.sqlite"
    )  # what is kept needs no network
    assert kept["verdict"].tolist() == ["exact", "error"]


def test_silence(services, monkeypatch):
    def slow(*arguments):
        time.sleep(0.5)
        return 200, {}, feed()

    monkeypatch.setattr(services, "usual", slow)
    found = look(services, [SHEEP], services=["arxiv"], timeout=0.1, retries=1)
    assert found["verdict"].tolist() == ["error"] and "no answer in 0.1 s" in found["error"][0]


def test_errors_for_people(tmp_path):
    with pytest.raises(sources.SourceError, match="did you mean 'semantic_scholar'"):
        sources.look_up([], services=["semantic scholar"])
    (tmp_path / "broken.sqlite").write_bytes(b"this is no database" * 100)
    with pytest.raises(sources.SourceError, match="move it away"):
        sources.look_up([], cache=tmp_path / "broken.sqlite")
    assert list(sources.look_up([]).columns) == list(metadata.COLUMNS)


@pytest.mark.parametrize(
    ("a", "b", "same"),
    [
        ("Ada Wool", "A. Wool", True),
        ("Wool", "Ada Wool", True),
        ("Ada Wool", "Ben Wool", False),
        ("Łukasz Käiser", "Lukasz Kaiser", False),  # a stroke is no accent: `attribution.same_author` knows it
        ("José Gärtner", "Jose Gartner", True),
        ("", "Ada Wool", False),
    ],
)
def test_names(a, b, same):
    assert metadata._same_author(a, b) is same


def test_titles():
    assert metadata._same_title("{BERT}: Pre-training of\nDeep …", "BERT: Pretraining of deep ...")
    assert not metadata._same_title("BERT", "RoBERTa") and not metadata._same_title("", "")
