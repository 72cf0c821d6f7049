//! Cells of CSV files that spreadsheets do not take for formulas.
//!
//! A cell that begins with `=`, `+`, `-` or `@` is carried out by a spreadsheet. An apostrophe before
//! it makes it text; whatever had one already gets another, so that nothing is lost on the way back.

/// A text as a cell. Numbers stay as they are.
pub(crate) fn to_cell(text: &str) -> String {
    let is_number = text.parse::<f64>().is_ok();
    if text.starts_with(is_special) && !is_number { format!("'{text}") } else { text.to_owned() }
}

/// The text that a cell holds.
pub(crate) fn from_cell(cell: &str) -> &str {
    cell.strip_prefix('\'').filter(|text| text.starts_with(is_special)).unwrap_or(cell)
}

fn is_special(first: char) -> bool {
    matches!(first, '=' | '+' | '-' | '@' | '\'' | '\t' | '\r')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_text_comes_back_and_none_is_a_formula() {
        for text in
            ["=1+1", "+x", "-x", "@x", "'", "''=x", "'x", "\t=x", "x", "", "-1.5", "1e5", " =x"]
        {
            let cell = to_cell(text);
            assert_eq!(from_cell(&cell), text);
            let is_formula = cell.starts_with(['=', '+', '-', '@']) && cell.parse::<f64>().is_err();
            assert!(!is_formula, "{cell}");
        }
        assert_eq!(to_cell("-1.5"), "-1.5");
        assert_eq!(from_cell("'tis"), "'tis", "not one of ours");
    }
}
