//! The page as HTML. The only file that names `maud`, `base64` and `sha2`.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use maud::{DOCTYPE, Markup, PreEscaped, html};
use sha2::{Digest, Sha256};

use super::{Cell, Chooser, Display, Figure, Page, Runs, Section, Table};
use crate::font::{FAMILY, Weight, face};
use crate::mark::{Mark, escape};
use crate::picture::Picture;

const STYLE: &str = include_str!("page.css");
const SCRIPT: &str = include_str!("page.js");

/// Figures are laid out for paper; on a screen they may be a little larger.
const ENLARGED: f64 = 1.2;

/// The same where one stands alone.
const ALONE: f64 = 1.5;

/// Pictures that are not wider fit on the screen of a phone.
const NARROW: f64 = 360.0;

/// Of pictures that are not wider, two fit there side by side.
const SMALL: f64 = 180.0;

impl Page {
    /// The page as HTML.
    pub fn html(&self) -> String {
        let mut numbers = Numbers { figures: 0, tables: 0 };
        let style = format!("{}body {{ font-family: {FAMILY}; }}\n{STYLE}", faces());
        let page = html! {
            (DOCTYPE)
            html lang="en" {
                head {
                    meta charset="utf-8";
                    meta name="viewport" content="width=device-width, initial-scale=1";
                    meta name="color-scheme" content="light dark";
                    meta http-equiv="Content-Security-Policy" content=(policy());
                    title { (self.title) }
                    style { (PreEscaped(style)) }
                }
                body {
                    (header(self))
                    main {
                        (runs(&self.runs))
                        @for (index, part) in self.sections.iter().enumerate() {
                            (section(part, index, &mut numbers))
                        }
                        (made(&self.made))
                    }
                    @if self.is_interactive() { script { (PreEscaped(SCRIPT)) } }
                }
            }
        };
        page.into_string()
    }

    /// Whether anything on it can be pointed at, sorted or chosen.
    fn is_interactive(&self) -> bool {
        let tables = || self.sections.iter().flat_map(|section| &section.tables);
        tables().any(|table| !table.marks.is_empty() || table.display == Display::List)
    }
}

/// What a browser may do with the page: nothing is loaded, and no script runs but this one, whatever
/// names and reasons may hold.
fn policy() -> String {
    let script = STANDARD.encode(Sha256::digest(SCRIPT.as_bytes()));
    format!(
        "default-src 'none'; style-src 'unsafe-inline'; font-src data:; img-src data:; \
         script-src 'sha256-{script}'; base-uri 'none'; form-action 'none'"
    )
}

/// The bundled typeface, so that figures look on every machine as they were laid out.
fn faces() -> String {
    let rule = |weight: Weight| {
        format!(
            "@font-face {{ font-family: Inter; font-weight: {}; \
             src: url(data:font/ttf;base64,{}) format(\"truetype\"); }}\n",
            weight.number(),
            STANDARD.encode(face(weight))
        )
    };
    [Weight::Regular, Weight::SemiBold].map(rule).concat()
}

/// How many figures and tables there were so far.
struct Numbers {
    figures: usize,
    tables: usize,
}

fn header(page: &Page) -> Markup {
    html! {
        header {
            h1 { (page.title) }
            @for paragraph in paragraphs(&page.lead) {
                p.lead { (paragraph) }
            }
            @if page.sections.len() > 1 {
                nav aria-label="Contents" {
                    ul {
                        @for (i, section) in page.sections.iter().enumerate() {
                            li { a href={ "#section-" (i + 1) } { (section.heading) } }
                        }
                    }
                }
            }
        }
    }
}

fn made(made: &[(String, String)]) -> Markup {
    html! {
        @if !made.is_empty() {
            section.made {
                h2 { "How it was made" }
                dl {
                    @for (key, value) in made {
                        div { dt { (key) } dd { (value) } }
                    }
                }
            }
        }
    }
}

/// How far the runs are: a sentence, and how many of each kind.
fn runs(runs: &[Runs]) -> Markup {
    let complete: usize = runs.iter().map(|kind| kind.complete.min(kind.planned)).sum();
    let planned: usize = runs.iter().map(|kind| kind.planned).sum();
    let missing = planned - complete;
    let verb = if missing == 1 { "is" } else { "are" };
    html! {
        @if !runs.is_empty() {
            section.runs {
                h2 { "Runs" }
                @if missing == 0 {
                    p { "All " (planned) " runs are complete." }
                } @else {
                    p.warning {
                        (missing) " of " (planned) " runs " (verb) " missing or incomplete. "
                        "Means are over those that are complete."
                    }
                }
                ul { @for kind in runs { (runs_of(kind)) } }
            }
        }
    }
}

fn runs_of(kind: &Runs) -> Markup {
    let share = if kind.planned == 0 { 1.0 } else { kind.complete as f64 / kind.planned as f64 };
    let percent = format!("{:.1}%", 100.0 * share.min(1.0));
    html! {
        li.incomplete[kind.complete < kind.planned] {
            span { (kind.name) }
            span.bar aria-hidden="true" { span style={ "width:" (percent) } {} }
            span { (kind.complete) " / " (kind.planned) }
        }
    }
}

fn section(section: &Section, index: usize, numbers: &mut Numbers) -> Markup {
    html! {
        section id={ "section-" (index + 1) } {
            h2 { (section.heading) }
            @for paragraph in paragraphs(&section.text) {
                p { (paragraph) }
            }
            @if let Some(one) = &section.chooser { (chooser(one)) }
            @for one in &section.figures {
                (figure(one, numbers))
            }
            @for one in &section.tables {
                (table(one, numbers))
            }
        }
    }
}

/// Hidden until the script shows it: without one it does nothing.
fn chooser(chooser: &Chooser) -> Markup {
    html! {
        div.chooser hidden {
            p { (chooser.caption) }
            div.sliders {
                @for name in &chooser.criteria {
                    label {
                        span { (name) }
                        input type="range" min="0" max="100" value="50";
                        output { "50" }
                    }
                }
            }
            p.choice aria-live="polite" {}
        }
    }
}

fn figure(figure: &Figure, numbers: &mut Numbers) -> Markup {
    numbers.figures += 1;
    let enlarged = if figure.pictures.len() == 1 { ALONE } else { ENLARGED };
    let width = |picture: &Picture| (enlarged * picture.width()).round();
    let all_within = |most: f64| figure.pictures.iter().all(|picture| picture.width() <= most);
    let (narrow, small) = (all_within(NARROW), figure.pictures.len() > 1 && all_within(SMALL));
    html! {
        figure.narrow[narrow].small[small] {
            div.scroll.pictures {
                @for picture in &figure.pictures {
                    // Text in a picture was escaped when it was drawn.
                    div style={ "max-width:" (width(picture)) "px;flex-basis:" (width(picture)) "px" } {
                        (PreEscaped(picture.svg()))
                    }
                }
            }
            figcaption { b { "Figure " (numbers.figures) "." } " " (figure.caption) }
        }
    }
}

fn table(table: &Table, numbers: &mut Numbers) -> Markup {
    numbers.tables += 1;
    let columns = table.head.len();
    html! {
        figure.table {
            figcaption { b { "Table " (numbers.tables) "." } " " (table.caption) }
            div.scroll.list[table.display == Display::List] tabindex="0" {
                table {
                    thead { tr { @for name in &table.head { th scope="col" { (name) } } } }
                    tbody {
                        @for (i, cells) in table.rows.iter().enumerate() {
                            (row(cells, columns, table.marks.get(i)))
                        }
                    }
                }
            }
        }
    }
}

fn row(cells: &[Cell], columns: usize, mark: Option<&Mark>) -> Markup {
    let begin = format!("<tr{}>", mark.map(Mark::attributes).unwrap_or_default());
    html! {
        (PreEscaped(begin))
            @for i in 0..columns.max(cells.len()) {
                @if i == 0 {
                    th scope="row" { (content(cells.get(i))) }
                } @else {
                    td { (content(cells.get(i))) }
                }
            }
        (PreEscaped("</tr>"))
    }
}

fn content(cell: Option<&Cell>) -> Markup {
    html! {
        @match cell {
            Some(Cell::Plain(text)) => (PreEscaped(escape(text))),
            Some(Cell::Best(text)) => b { (PreEscaped(escape(text))) },
            None => "",
        }
    }
}

/// The parts of a text between empty lines.
fn paragraphs(text: &str) -> Vec<String> {
    let mut found = vec![Vec::new()];
    for line in text.lines() {
        match (line.trim(), found.last_mut()) {
            ("", _) => found.push(Vec::new()),
            (line, Some(paragraph)) => paragraph.push(line),
            (_, None) => {}
        }
    }
    found.iter().filter(|lines| !lines.is_empty()).map(|lines| lines.join(" ")).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::canvas::{Anchor, Canvas, Place, TextStyle};
    use crate::picture::Picture;

    const NASTY: &str = "</style><script>alert(1)</script> & \"quoted\" 'too'";

    fn nasty() -> Page {
        let mut canvas = Canvas::new(80.0, 20.0);
        canvas.text(Place::new(2.0, 15.0), NASTY, &TextStyle::new(12.0, Anchor::Start));
        let picture = Picture::new(canvas, NASTY);
        let table = Table {
            caption: NASTY.into(),
            head: vec![NASTY.into(), "cost".into()],
            rows: vec![vec![NASTY.into(), Cell::Best(NASTY.into()), NASTY.into()], Vec::new()],
            marks: vec![Mark::new(NASTY, NASTY)],
            display: Display::List,
        };
        let section = Section {
            heading: NASTY.into(),
            text: format!("{NASTY}\n\n{NASTY}"),
            chooser: Some(Chooser { caption: NASTY.into(), criteria: vec![NASTY.into()] }),
            figures: vec![Figure { caption: NASTY.into(), pictures: vec![picture] }; 2],
            tables: vec![table],
        };
        Page {
            title: NASTY.into(),
            lead: NASTY.into(),
            made: vec![(NASTY.into(), NASTY.into())],
            runs: vec![Runs { name: NASTY.into(), complete: 1, planned: 3 }],
            sections: vec![section; 2],
        }
    }

    #[test]
    fn no_text_becomes_markup() {
        let html = nasty().html();
        // The only one is the page's own.
        assert_eq!(html.matches("<script").count(), 1);
        assert!(html.contains(&format!("<script>{SCRIPT}</script>")));
        assert_eq!(html.matches("</style>").count(), 1);
    }

    #[test]
    fn only_the_script_of_the_page_may_run_and_only_where_it_is_needed() {
        // The hash of nothing, as everybody knows it.
        let empty = STANDARD.encode(Sha256::digest(b""));
        assert_eq!(empty, "47DEQpj8HBSa+/TImW+5JCeuQeRkm5NMpJWZG3hSuFU=");
        assert!(
            nasty().html().contains("script-src &#39;sha256-")
                || nasty().html().contains("script-src 'sha256-")
        );
        assert!(!Page::default().html().contains("<script"));
        for risky in ["innerHTML", "outerHTML", "insertAdjacent", "eval", "document.write", "</"] {
            assert!(!SCRIPT.contains(risky), "{risky}");
        }
    }

    #[test]
    fn cells_have_no_control_characters() {
        let cells = [Cell::Plain("a\u{1b}[31m".into()), Cell::Best("b\0<".into())];
        let html = cells.map(|cell| content(Some(&cell)).into_string());
        assert_eq!(html, ["a\u{fffd}[31m", "<b>b\u{fffd}&lt;</b>"]);
    }

    #[test]
    fn the_page_loads_nothing_and_repeats_no_id() {
        let html = nasty().html();
        let outside = html.replace("http://www.w3.org/2000/svg", "");
        assert!(!outside.contains("http:") && !outside.contains("https:"));
        assert!(!outside.contains("src=") && !outside.contains("<link"));
        let ids: Vec<&str> =
            html.split(" id=\"").skip(1).filter_map(|rest| rest.split('"').next()).collect();
        assert_eq!(ids, ["section-1", "section-2"]);
    }

    #[test]
    fn figures_and_tables_are_numbered_through() {
        let html = nasty().html();
        for name in ["Figure 1.", "Figure 4.", "Table 1.", "Table 2."] {
            assert_eq!(html.matches(name).count(), 1, "{name}");
        }
    }

    #[test]
    fn only_small_pictures_stand_side_by_side_on_a_phone() {
        let html = |width: f64, count: usize| {
            let picture = Picture::new(Canvas::new(width, 90.0), "");
            let figure = Figure { caption: String::new(), pictures: vec![picture; count] };
            let section = Section { figures: vec![figure], ..Section::default() };
            Page { sections: vec![section], ..Page::default() }.html()
        };
        assert!(html(160.0, 3).contains("<figure class=\"narrow small\">"));
        assert!(html(320.0, 6).contains("<figure class=\"narrow\">"), "text would be too small");
        assert!(html(160.0, 1).contains("<figure class=\"narrow\">"));
        assert!(html(500.0, 2).contains("<figure class=\"\">"), "wide ones can be scrolled");
    }

    #[test]
    fn missing_runs_are_reported() {
        let runs = |complete| {
            let kind = Runs { name: "a".into(), complete, planned: 2 };
            Page { runs: vec![kind], ..Page::default() }.html()
        };
        assert!(runs(1).contains("1 of 2 runs is missing or incomplete"));
        assert!(runs(2).contains("All 2 runs are complete"));
    }

    #[test]
    fn every_element_is_closed() {
        let html = nasty().html();
        for name in ["section", "figure", "div", "table", "svg", "ul", "li", "dl", "main", "p"] {
            let opened = html.matches(&format!("<{name}>")).count()
                + html.matches(&format!("<{name} ")).count();
            assert_eq!(opened, html.matches(&format!("</{name}>")).count(), "{name}");
        }
    }

    #[test]
    fn empty_lines_part_paragraphs() {
        assert_eq!(paragraphs("a\nb\n\n\n c \n"), ["a b", "c"]);
        assert!(paragraphs(" \n ").is_empty());
    }
}
