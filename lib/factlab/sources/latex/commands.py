"""What the reader does with the commands of LaTeX and of the styles in which papers are written.

A command that stands in none of these tables, and is defined nowhere, is passed over; what stands in its braces is kept.
"""

from .tokens import words

# Headings by depth. A starred form is the same heading.
HEADINGS = {
    "part": 0,
    "chapter": 0,
    "section": 1,
    "Section": 1,
    "subsection": 2,
    "subsubsection": 3,
    "paragraph": 4,
    "subparagraph": 5,
}

# Commands by how many arguments are read and left out before what is kept. Options may stand before each.
_SKIP = {
    "m": """label vspace hspace phantom hphantom vphantom pagestyle thispagestyle bibliographystyle setcitestyle hyphenation
    includegraphics pagenumbering index glossary email affiliation address institute keywords date titlerunning
    authorrunning tocauthor affil ead thanksref corref fnref cortext graphicspath captionsetup hypersetup nocite
    selectlanguage lstset tikzset pgfplotsset usetikzlibrary usepgfplotslibrary documentclass documentstyle usepackage
    RequirePackage setstretch urlstyle bookmarksetup copyrightyear acmYear acmDOI acmISBN setcopyright acmPrice ccsdesc
    orcid IEEEspecialpapernotice IEEEpubid markright pacs preprint keyword subjclass dedicatory curraddr urladdr
    theoremstyle linespread setlist raisebox scalebox rotatebox color pagecolor cellcolor rowcolor columncolor textcolor
    colorbox foreignlanguage fontfamily fontseries fontshape icmlkeywords parbox PACS MSC2010 fontencoding hypertarget
    hyperlink bstctlcite externaldocument excludecomment includecomment stepcounter refstepcounter arrayrulecolor noalign
    cline cmidrule enlargethispage shorttitle shortauthors received revised accepted published
    urlprefix eprintprefix sethlcolor BibitemShut citestyle bibpunct""",
    "mm": """setlength addtolength setcounter addtocounter fontsize resizebox PassOptionsToPackage PassOptionsToClass markboth
    multicolumn multirow colorlet crefname Crefname rule numberwithin settowidth icmlaffiliation icmlcorrespondingauthor
    AtBeginEnvironment SetKwInOut newcites fcolorbox newcolumntype newtheorem usefont DeclareUnicodeCharacter""",
    "mmm": "addcontentsline definecolor acmConference specialrule pdfbookmark",
    "mmmmm": "titlespacing titleformat",
}
SKIPPED = {name: len(letters) for letters, names in _SKIP.items() for name in words(names)}

# Left out with their argument, as notes to fellow authors are: they are no part of the paper. (Their text is counted.)
REMARKS = words("todo todonote marginpar marginnote hide comment pdfcomment missingfigure fxnote nb")

# A number in print; here its name is unknown.
REFERENCES = words(
    """ref eqref autoref cref Cref pageref nameref vref Vref prettyref subref crefrange Crefrange fref Fref sref secref
    figref tabref labelcref namecref"""
)
REFERENCE = "[ref]"

FOOTNOTES = words("footnote thanks footnotetext tablefootnote sidenote endnote blfootnote tnotetext fntext Thanks")
CAPTIONS = words("caption captionof subcaption captionabove captionbelow tablecaption figcaption tabcaption")

# Followed by a length, as in `\vskip 1em plus 0.5em`, or by a number.
LENGTHS = words(
    """vskip hskip kern mkern mskip parindent parskip baselineskip hsize vsize textwidth textheight topmargin oddsidemargin
    evensidemargin columnsep tabcolsep abovedisplayskip belowdisplayskip leftmargin rightmargin itemsep parsep topsep
    penalty tolerance hbadness vbadness emergencystretch clubpenalty widowpenalty interlinepenalty lineskip arraystretch
    hangindent hangafter linewidth columnwidth raise lower hfuzz looseness binoppenalty relpenalty multiply advance"""
)

# Nothing to see, and nothing to say about them.
SILENT = words(
    """maketitle noindent indent centering raggedright raggedleft small footnotesize scriptsize tiny normalsize large Large
    LARGE huge Huge bf it sl sc rm tt sf em bfseries itshape slshape scshape rmfamily ttfamily sffamily mdseries upshape
    normalfont textbf textit textsl textsc textrm texttt textsf emph textnormal textmd textup underline uline uwave mbox
    hbox vbox fbox sout hl relax protect newpage clearpage cleardoublepage pagebreak nopagebreak linebreak nolinebreak
    smallskip medskip bigskip hfill vfill hfil vfil par leavevmode unskip ignorespaces ignorespacesafterend expandafter
    noexpand global long outer protected makeatletter makeatother begingroup endgroup bgroup egroup
    toprule midrule bottomrule hline tableofcontents listoffigures listoftables IEEEpeerreviewmaketitle
    IEEEraisesectionheading IEEEdisplaynontitleabstractindextext IEEEoverridecommandlockouts IEEEPARstart lettrine
    MakeUppercase MakeLowercase uppercase lowercase MakeTextUppercase sloppy fussy flushbottom raggedbottom twocolumn
    onecolumn appendix frontmatter mainmatter backmatter textsuperscript textsubscript nonumber displaystyle textstyle
    boldmath unboldmath strut null nobreak allowbreak goodbreak bigbreak filbreak balance phantomsection ensuremath
    acknowledgments xspace hss vss space cal mathcal ack bm boldsymbol mathbf mathrm mathit allowdisplaybreaks
    printbibliography sffamily singlespacing doublespacing onehalfspacing nolinenumbers linenumbers selectfont aclfinalcopy
    newblock hfilneg footnotemark and And AND quad BibitemOpen bibfnamefont bibnamefont enquote citeauthoryear natexlab cprotect
     printccsdesc printacmref latexbook  textls scaleto ul st so
    href@noop bibitemStop bibitemNoStop EOS Eprint DOI PrintDOI PrintMR PrintReviews Bibitem Hy@raisedlink
    BIBentryALTinterwordspacing BIBentrySTDinterwordspacing BIBforeignlanguage BIBdecl bibinfo bibfield doi url path nolinkurl
    href compat@warn@noeditor showarticletitle showDOI showURL showISBN showISBNx showISSN showLCCN shownote showeprint
    makecell shortstack dashuline shownotes translatedtitle acmIsbn urldef texorpdfstring nocollect"""
)

MATH_ENVIRONMENTS = words(
    """math displaymath equation align alignat flalign gather multline eqnarray subequations dmath IEEEeqnarray
    aligned array split cases matrix pmatrix bmatrix xalignat empheq dgroup darray"""
)
FLOATS = {
    "figure": "figure",
    "wrapfigure": "figure",
    "SCfigure": "figure",
    "teaserfigure": "figure",
    "sidewaysfigure": "figure",
    "floatingfigure": "figure",
    "table": "table",
    "wraptable": "table",
    "sidewaystable": "table",
    "longtable": "table",
    "tabular": "table",
    "tabularx": "table",
    "tabulary": "table",
    "threeparttable": "table",
    "supertabular": "table",
    "deluxetable": "table",
    "algorithm": "algorithm",
    "algorithm2e": "algorithm",
    "listing": "listing",
    "keywords": "keywords",
    "keyword": "keywords",
    "IEEEkeywords": "keywords",
    "IEEEbiography": "biography",
    "IEEEbiographynophoto": "biography",
    "biography": "biography",
    "CCSXML": "keywords",
}
# The environments whose arguments are no text: how many, after any options.
ENVIRONMENT_ARGUMENTS = {
    "tabular": 1,
    "tabularx": 2,
    "tabulary": 2,
    "longtable": 1,
    "supertabular": 1,
    "deluxetable": 1,
    "wrapfigure": 2,
    "wraptable": 2,
    "minipage": 1,
    "multicols": 1,
    "thebibliography": 1,
    "adjustbox": 1,
    "list": 2,
    "array": 1,
    "spacing": 1,
    "adjustwidth": 2,
    "otherlanguage": 1,
    "IEEEbiography": 1,
    "IEEEbiographynophoto": 1,
    "subfigure": 1,
    "subtable": 1,
    "mdframed": 0,
    "tcolorbox": 0,
}
# Code and drawings: nothing of them is prose.
UNREAD = words(
    """verbatim verbatim* Verbatim lstlisting minted alltt filecontents filecontents* tikzpicture pgfpicture picture
    algorithmic pspicture circuitikz forest tikzcd CD xy asy pycode luacode overpic axis codeblock prooftree"""
)
NAMED_SECTIONS = {
    "abstract": "Abstract",
    "abstract*": "Abstract",
    "acks": "Acknowledgements",
    "acknowledgements": "Acknowledgements",
    "acknowledgments": "Acknowledgements",
    "acknowledgement": "Acknowledgements",
    "acknowledgment": "Acknowledgements",
    "ack": "Acknowledgements",
}
BIBLIOGRAPHIES = words("thebibliography references bibdiv biblist")

ITALIC = words("emph textit textsl em it itshape sl slshape")
# Commands and \bibinfo names of bibliography styles that say what a piece of an entry is.
FIELDS = {
    "author": "authors",
    "authors": "authors",
    "bauthor": "author",
    "person": "author",
    "title": "title",
    "articletitle": "title",
    "batitle": "title",
    "bchaptertitle": "title",
    "atitle": "title",
    "showarticletitle": "title",
    "btitle": "book",
    "booktitle": "venue",
    "bbtitle": "venue",
    "bjtitle": "venue",
    "jtitle": "venue",
    "journal": "venue",
    "series": "series",
    "publisher": "publisher",
    "byear": "year",
    "year": "year",
    "date": "year",
    "eprint": "eprint",
    "editor": "editors",
    "bedtitle": "venue",
}
