"""HTML to visible text: what a reader sees, in blocks, and nothing that a sender hid."""

import pytest

from mailsearch.ingest import html

HIDDEN = [
    '<div style="display:none">SECRET</div>',
    '<p style="DISPLAY : NONE !important">SECRET</p>',
    '<div style="visibility:hidden">SECRET</div>',
    '<p style="opacity:0">SECRET</p>',
    '<p style="opacity:.01">SECRET</p>',
    '<p style="font-size:0px;line-height:0">SECRET</p>',
    '<p style="font:0/0 a">SECRET</p>',
    '<span style="font-size:1px">SECRET</span>',
    '<p style="position:absolute;left:-9999px">SECRET</p>',
    '<p style="text-indent:-9999px">SECRET</p>',
    '<p style="clip:rect(0,0,0,0);position:absolute">SECRET</p>',
    '<p style="clip-path:inset(50%)">SECRET</p>',
    '<p style="transform:scale(0)">SECRET</p>',
    '<div style="max-height:0;overflow:hidden">SECRET</div>',
    '<div style="width:0;overflow:hidden">SECRET</div>',
    '<p style="color:#fff">SECRET</p>',
    '<p style="color:white;background:#fefefe">SECRET</p>',
    '<p style="color:transparent">SECRET</p>',
    '<p style="color:rgba(0,0,0,0)">SECRET</p>',
    '<font color="#FFFFFF">SECRET</font>',
    '<div style="background:black"><span style="color:#010101">SECRET</span></div>',
    '<p style="background:#222;color:white">seen<span style="color:#222222">SECRET</span></p>',
    "<style>.x{display:none}</style><p class=x>SECRET</p>",
    "<style>#y{font-size:0}</style><p id=y>SECRET</p>",
    "<style>div.a > span{color:#ffffff}</style><div class=a><span>SECRET</span></div>",
    "<style>@media screen{.z{display:none !important}}</style><p class=z style='display:block'>SECRET</p>",
    "<style><!-- .c{visibility:hidden} --></style><p class=c>SECRET</p>",
    '<p style="position:absolute;inset:-9999px auto auto -9999px">SECRET</p>',
    '<p style="transform:translate3d(-9999px,0,0)">SECRET</p>',
    '<p style="transform:translateY(-9999px)">SECRET</p>',
    '<p style="transform:rotateY(90deg)">SECRET</p>',
    '<p style="translate:-9999px">SECRET</p>',
    '<p style="scale:0">SECRET</p>',
    '<p style="clip-path:polygon(0 0, 0px 0px)">SECRET</p>',
    '<p style="filter:alpha(opacity=0)">SECRET</p>',
    '<p style="mso-hide:all">SECRET</p>',
    '<p style="color:hwb(0 100% 0%)">SECRET</p>',
    '<p style="color:oklch(1 0 0)">SECRET</p>',
    '<p style="color:color(srgb 1 1 1)">SECRET</p>',
    '<p style="display:\\6eone">SECRET</p>',
    "<style>.x{d\\69splay:none}</style><p class=x>SECRET</p>",
    "<style>:root{--c:#fff}.x{color:var(--c)}</style><p class=x>SECRET</p>",
    '<p style="--d:none;display:var(--d)">SECRET</p>',
    "<style>@media only screen and (min-width:600px){.x{display:none}}</style><p class=x>SECRET</p>",
    "<p hidden>SECRET</p>",
    "<style>@media print, screen{.x{display:none}}</style><p class=x>SECRET</p>",
    "<style>@media not print{.x{display:none}}</style><p class=x>SECRET</p>",
    "<style>@media (width >= 600px){.x{display:none}}</style><p class=x>SECRET</p>",
    "<style>@media screen and (-webkit-min-device-pixel-ratio:0){.x{display:none}}</style><p class=x>SECRET</p>",
    "<style media='only screen'>.x{display:none}</style><p class=x>SECRET</p>",
    '<p style="margin:-9999px 0 0 -9999px">SECRET</p>',
    '<p style="display:var(--unset,none)">SECRET</p>',
    '<p style="clip-path:inset(0 0 100% 0)">SECRET</p>',
    '<p style="-webkit-clip-path:inset(50%)">SECRET</p>',
    '<p style="letter-spacing:-9999px">SECRET</p>',
    '<p style="font-size:min(0px,1em)">SECRET</p>',
    '<p style="font-size:clamp(0px,0px,1em)">SECRET</p>',
    '<p style="background:#eee url();color:#eee">SECRET</p>',
    "<template>SECRET</template>",
    "<dialog>SECRET</dialog>",
    "<title>SECRET</title>",
    "<!-- SECRET -->",
]


@pytest.mark.parametrize("source", HIDDEN)
def test_hidden_text_is_kept_apart(source: str) -> None:
    parsed = html.visible_text(f"<html><body><p>before</p>{source}<p>after</p></body></html>")
    assert "SECRET" not in parsed.text
    assert "SECRET" in parsed.hidden_text
    assert parsed.text.startswith("before")
    assert parsed.text.endswith("after")


@pytest.mark.parametrize(
    ("title", "hidden"), [("Roof  of the Shed", ""), ("Re: roof of the shed", ""), ("Roof, SECRET", "Roof, SECRET")]
)
def test_a_title_that_only_repeats_the_subject_is_not_hidden(title: str, hidden: str) -> None:
    source = f"<html><head><title>{title}</title></head><body><p>Slate.</p></body></html>"
    assert html.visible_text(source, subject="RE: Roof of the shed").hidden_text == hidden
    assert html.visible_text(source, subject="RE: Roof of the shed").text == "Slate."
    assert html.visible_text(source.replace("title", "p hidden", 1), subject=title).hidden_text != ""


VISIBLE = [
    '<div style="background:#000;color:#fff">SHOWN</div>',
    '<table bgcolor="#000080"><tr><td><font color="white">SHOWN</font></td></tr></table>',
    '<body style="background-image:url(x.png)"><p style="color:#fff">SHOWN</p>',
    '<p aria-hidden="true">SHOWN</p>',
    '<div style="visibility:hidden"><span style="visibility:visible">SHOWN</span></div>',
    '<div style="font-size:0"><span style="font-size:14px">SHOWN</span></div>',
    "<style>@media (max-width:600px){.m{display:none}}</style><p class=m>SHOWN</p>",
    "<style>@media print{.m{display:none}}</style><p class=m>SHOWN</p>",
    "<style>.a{display:none}.a{display:block}</style><p class=a>SHOWN</p>",
    "<style>.outer .a{display:none}</style><p class=a>SHOWN</p>",
    '<p style="color:#ccc">SHOWN</p>',
    "<style media=print>.m{display:none}</style><p class=m>SHOWN</p>",
    "<style media='only screen and (max-width:480px)'>.m{display:none}</style><p class=m>SHOWN</p>",
    "<style>@media print, (max-width:480px){.m{display:none}}</style><p class=m>SHOWN</p>",
    '<p style="letter-spacing:-0.5px;margin:-20px 0;font-size:clamp(12px,2vw,20px)">SHOWN</p>',
    '<p style="color:var(--brand)">SHOWN</p>',
    '<p style="clip-path:inset(0 round 100%)">SHOWN</p>',
    "<noscript>SHOWN</noscript>",
    '<a href="https://a.example" style="mso-hide:all">SHOWN</a>',
    '<p style="transform:rotate(90deg) translate(10px)">SHOWN</p>',
    '<p style="color:hwb(240 0% 0%)">SHOWN</p>',
    '<p style="color:lab(40 60 20);scale:0.5">SHOWN</p>',
    "<style>@media (prefers-color-scheme:dark){.m{color:#fff}}</style><p class=m>SHOWN</p>",
    "<p>S\u200dHO\u200bWN</p>",
    '<p style="display:none;display:block">SHOWN</p>',
]


@pytest.mark.parametrize("source", VISIBLE)
def test_visible_text_is_not_taken_for_hidden(source: str) -> None:
    parsed = html.visible_text(source)
    assert parsed.text == "SHOWN"


def test_scripts_and_styles_are_dropped_altogether() -> None:
    parsed = html.visible_text("<style>.q{margin:0}</style><script>var t=1<2</script><p>text</p>")
    assert parsed.text == "text"
    assert "margin" not in parsed.hidden_text
    assert "var" not in parsed.hidden_text


def test_blocks_are_what_the_page_has() -> None:
    parsed = html.visible_text(
        "<h2>Prices</h2><p>One&nbsp;line<br>and another</p><ul><li>red<li>blue</ul>"
        "<table><tr><th>Item</th><th>Cost</th></tr><tr><td>Oak</td><td>41</td></tr></table><pre>a\n  b</pre>"
    )
    blocks = [(block.kind, parsed.text[block.start : block.end]) for block in parsed.blocks]
    assert blocks == [
        ("heading", "Prices"),
        ("paragraph", "One line\nand another"),
        ("item", "red"),
        ("item", "blue"),
        ("row", "Item | Cost"),
        ("row", "Oak | 41"),
        ("code", "a\n  b"),
    ]


def test_tables_that_only_lay_out_a_page_are_no_rows() -> None:
    column = "<p>" + "long text " * 30 + "</p><p>more</p>"
    parsed = html.visible_text(f"<table><tr><td>{column}</td><td><table><tr><td>x</td></tr></table></td></tr></table>")
    assert {block.kind for block in parsed.blocks} == {"paragraph"}


def test_a_quote_and_its_attribution_are_marked_with_who_wrote_it() -> None:
    parsed = html.visible_text(
        "<p>Agreed.</p><div>On Mon, 4 Mar 2024 at 09:30, Ada Mond &lt;ada@a.example&gt; wrote:</div>"
        "<blockquote><p>Shall we meet?</p></blockquote><p>See you there.</p>"
    )
    quoted = [(parsed.text[one.start : one.end], one.said_by) for one in parsed.regions if one.kind == "quoted"]
    assert ("Shall we meet?", "Ada Mond <ada@a.example>") in quoted
    own = parsed.text.index("See you there.")
    assert not any(one.start <= own < one.end for one in parsed.regions)


def test_a_blockquote_that_only_indents_is_no_quote() -> None:
    parsed = html.visible_text('<blockquote style="margin:0 0 0 40px;border:none;padding:0">my own words</blockquote>')
    assert parsed.regions == ()


@pytest.mark.parametrize(
    "source",
    [
        "",
        "<",
        "<p",
        "<![CDATA[",
        "<style>",
        "<style>.a{",
        "<style>}}}}{{{{</style>x",
        "<p style=':;:;'>x",
        "<div>" * 20_000 + "x",
    ],
)
def test_broken_pages_do_no_harm(source: str) -> None:
    html.visible_text(source)
