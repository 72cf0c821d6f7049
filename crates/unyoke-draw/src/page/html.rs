//! The page as HTML. The only file that names `maud` and `base64`.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use maud::{DOCTYPE, Markup, PreEscaped, html};

use super::{Cell, Figure, Page, Runs, Section, Table};
use crate::canvas::escape;
use crate::font::{FAMILY, Weight, face};

const STYLE: &str = include_str!("page.css");

/// Figures are laid out for paper; on a screen they may be a little larger.
const ENLARGED: f64 = 1.2;

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
                    title { (self.title) }
                    style { (PreEscaped(style)) }
                }
                body {
                    (header(self))
                    main {
                        (made(&self.made))
                        (runs(&self.runs))
                        @for (index, part) in self.sections.iter().enumerate() {
                            (section(part, index, &mut numbers))
                        }
                    }
                }
            }
        };
        page.into_string()
    }
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
            @for one in &section.figures {
                (figure(one, numbers))
            }
            @for one in &section.tables {
                (table(one, numbers))
            }
        }
    }
}

fn figure(figure: &Figure, numbers: &mut Numbers) -> Markup {
    numbers.figures += 1;
    let width = (ENLARGED * figure.picture.width()).round();
    html! {
        figure {
            div.scroll {
                // Text in a picture was escaped when it was drawn.
                div style={ "max-width:" (width) "px" } { (PreEscaped(figure.picture.svg())) }
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
            div.scroll tabindex="0" {
                table {
                    thead { tr { @for name in &table.head { th scope="col" { (name) } } } }
                    tbody { @for cells in &table.rows { (row(cells, columns)) } }
                }
            }
        }
    }
}

fn row(cells: &[Cell], columns: usize) -> Markup {
    html! {
        tr {
            @for i in 0..columns.max(cells.len()) {
                @if i == 0 {
                    th scope="row" { (content(cells.get(i))) }
                } @else {
                    td { (content(cells.get(i))) }
                }
            }
        }
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
        };
        let section = Section {
            heading: NASTY.into(),
            text: format!("{NASTY}\n\n{NASTY}"),
            figures: vec![Figure { caption: NASTY.into(), picture }; 2],
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
        assert!(!html.contains("<script"));
        assert_eq!(html.matches("</style>").count(), 1);
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
