//! The page as HTML. The only file that names `base64`.

use std::fmt::Write;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;

use super::{Cell, Figure, Report, Runs, Section, Table};
use unyoke_draw::{FAMILY, Weight, escape, face};

const STYLE: &str = include_str!("page.css");

/// Figures are laid out for paper; on a screen they may be a little larger.
const ENLARGED: f64 = 1.2;

/// Writes the report as one HTML page.
///
/// ```
/// use unyoke_lab::report::{Report, page};
///
/// let html = page(&Report { title: "C-MOKG & others".into(), ..Report::default() });
/// assert!(html.starts_with("<!doctype html>"));
/// assert!(html.contains("<h1>C-MOKG &amp; others</h1>"));
/// ```
pub fn page(report: &Report) -> String {
    let title = escape(&report.title);
    let mut html = format!(
        "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n\
         <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n\
         <meta name=\"color-scheme\" content=\"light dark\">\n<title>{title}</title>\n\
         <style>\n{}body {{ font-family: {FAMILY}; }}\n{STYLE}</style>\n</head>\n<body>\n",
        faces()
    );
    write_header(&mut html, report);
    html.push_str("<main>\n");
    write_made(&mut html, &report.made);
    write_runs(&mut html, &report.runs);
    let mut numbers = Numbers { figures: 0, tables: 0 };
    for (i, section) in report.sections.iter().enumerate() {
        write_section(&mut html, section, i, &mut numbers);
    }
    html.push_str("</main>\n</body>\n</html>\n");
    html
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

fn write_header(html: &mut String, report: &Report) {
    let _ = writeln!(html, "<header>\n<h1>{}</h1>", escape(&report.title));
    for paragraph in paragraphs(&report.lead) {
        let _ = writeln!(html, "<p class=\"lead\">{}</p>", escape(&paragraph));
    }
    if report.sections.len() > 1 {
        html.push_str("<nav aria-label=\"Contents\"><ul>\n");
        for (i, section) in report.sections.iter().enumerate() {
            let heading = escape(&section.heading);
            let _ = writeln!(html, "<li><a href=\"#section-{}\">{heading}</a></li>", i + 1);
        }
        html.push_str("</ul></nav>\n");
    }
    html.push_str("</header>\n");
}

fn write_made(html: &mut String, made: &[(String, String)]) {
    if made.is_empty() {
        return;
    }
    html.push_str("<section class=\"made\">\n<h2>How it was made</h2>\n<dl>\n");
    for (key, value) in made {
        let (key, value) = (escape(key), escape(value));
        let _ = writeln!(html, "<div><dt>{key}</dt><dd>{value}</dd></div>");
    }
    html.push_str("</dl>\n</section>\n");
}

/// How far the runs are: a sentence if all are complete, otherwise also a table.
fn write_runs(html: &mut String, runs: &[Runs]) {
    if runs.is_empty() {
        return;
    }
    let complete: usize = runs.iter().map(|kind| kind.complete.min(kind.planned)).sum();
    let planned: usize = runs.iter().map(|kind| kind.planned).sum();
    html.push_str("<section class=\"runs\">\n<h2>Runs</h2>\n");
    if complete == planned {
        let _ = writeln!(html, "<p>All {planned} runs are complete.</p>");
    } else {
        let missing = planned - complete;
        let verb = if missing == 1 { "is" } else { "are" };
        let _ = writeln!(
            html,
            "<p class=\"warning\">{missing} of {planned} runs {verb} missing or incomplete. \
             Means are over those that are complete.</p>"
        );
    }
    html.push_str("<ul>\n");
    runs.iter().for_each(|kind| write_kind(html, kind));
    html.push_str("</ul>\n</section>\n");
}

fn write_kind(html: &mut String, kind: &Runs) {
    let share = if kind.planned == 0 { 1.0 } else { kind.complete as f64 / kind.planned as f64 };
    let class = if kind.complete < kind.planned { " class=\"incomplete\"" } else { "" };
    let percent = 100.0 * share.min(1.0);
    let _ = writeln!(
        html,
        "<li{class}><span>{}</span><span class=\"bar\" aria-hidden=\"true\">\
         <span style=\"width:{percent:.1}%\"></span></span><span>{} / {}</span></li>",
        escape(&kind.name),
        kind.complete,
        kind.planned
    );
}

fn write_section(html: &mut String, section: &Section, index: usize, numbers: &mut Numbers) {
    let heading = escape(&section.heading);
    let _ = writeln!(html, "<section id=\"section-{}\">\n<h2>{heading}</h2>", index + 1);
    for paragraph in paragraphs(&section.text) {
        let _ = writeln!(html, "<p>{}</p>", escape(&paragraph));
    }
    for figure in &section.figures {
        numbers.figures += 1;
        write_figure(html, figure, numbers.figures);
    }
    for table in &section.tables {
        numbers.tables += 1;
        write_table(html, table, numbers.tables);
    }
    html.push_str("</section>\n");
}

fn write_figure(html: &mut String, figure: &Figure, number: usize) {
    let (svg, caption) = (figure.picture.svg(), escape(&figure.caption));
    let width = (ENLARGED * figure.picture.width()).round();
    let _ = writeln!(
        html,
        "<figure>\n<div class=\"scroll\">\n<div style=\"max-width:{width}px\">\n{svg}</div></div>\n\
         <figcaption><b>Figure {number}.</b> {caption}</figcaption>\n</figure>"
    );
}

fn write_table(html: &mut String, table: &Table, number: usize) {
    let _ = writeln!(
        html,
        "<figure class=\"table\">\n<figcaption><b>Table {number}.</b> {}</figcaption>\n\
         <div class=\"scroll\" tabindex=\"0\">\n<table>\n<thead><tr>",
        escape(&table.caption)
    );
    for name in &table.head {
        let _ = writeln!(html, "<th scope=\"col\">{}</th>", escape(name));
    }
    html.push_str("</tr></thead>\n<tbody>\n");
    let columns = table.head.len();
    table.rows.iter().for_each(|row| write_row(html, row, columns));
    html.push_str("</tbody>\n</table>\n</div>\n</figure>\n");
}

fn write_row(html: &mut String, row: &[Cell], columns: usize) {
    html.push_str("<tr>");
    for i in 0..columns.max(row.len()) {
        let cell = match row.get(i) {
            Some(Cell::Plain(text)) => escape(text),
            Some(Cell::Best(text)) => format!("<b>{}</b>", escape(text)),
            None => String::new(),
        };
        let _ = match i {
            0 => write!(html, "<th scope=\"row\">{cell}</th>"),
            _ => write!(html, "<td>{cell}</td>"),
        };
    }
    html.push_str("</tr>\n");
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
    use crate::figures::{VerticalScale, regret_figure};

    const NASTY: &str = "</style><script>alert(1)</script> & \"quoted\" 'too'";

    fn nasty() -> Report {
        let picture = regret_figure(&[], VerticalScale::Linear);
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
        Report {
            title: NASTY.into(),
            lead: NASTY.into(),
            made: vec![(NASTY.into(), NASTY.into())],
            runs: vec![Runs { name: NASTY.into(), complete: 1, planned: 3 }],
            sections: vec![section; 2],
        }
    }

    #[test]
    fn no_text_becomes_markup() {
        let html = page(&nasty());
        assert!(!html.contains("<script"));
        assert_eq!(html.matches("</style>").count(), 1);
    }

    #[test]
    fn the_page_loads_nothing_and_repeats_no_id() {
        let html = page(&nasty());
        let outside = html.replace("http://www.w3.org/2000/svg", "");
        assert!(!outside.contains("http:") && !outside.contains("https:"));
        assert!(!outside.contains("src=") && !outside.contains("<link"));
        let ids: Vec<&str> =
            html.split(" id=\"").skip(1).filter_map(|rest| rest.split('"').next()).collect();
        assert_eq!(ids, ["section-1", "section-2"]);
    }

    #[test]
    fn figures_and_tables_are_numbered_through() {
        let html = page(&nasty());
        for name in ["Figure 1.", "Figure 4.", "Table 1.", "Table 2."] {
            assert_eq!(html.matches(name).count(), 1, "{name}");
        }
    }

    #[test]
    fn missing_runs_are_told() {
        let runs = |complete| {
            let kind = Runs { name: "a".into(), complete, planned: 2 };
            page(&Report { runs: vec![kind], ..Report::default() })
        };
        assert!(runs(1).contains("1 of 2 runs is missing or incomplete"));
        assert!(runs(2).contains("All 2 runs are complete"));
    }

    #[test]
    fn every_element_is_closed() {
        let html = page(&nasty());
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
