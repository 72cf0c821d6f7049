//! Sheets of workbooks: what `unyoke import` and `unyoke tell --csv` read of them.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod place;

use place::Place;
use rust_xlsxwriter::{ExcelDateTime, Format, Formula, Workbook, Worksheet};

/// Two outputs by hand, a choice, and an integer.
const STUDY: &str = "
[budget]
cost = 100
[parameters.length]
low = 0
high = 10
[parameters.layers]
type = \"integer\"
low = 1
high = 9
[parameters.material]
choices = [\"oak\", \"steel\"]
[objectives.mass]
direction = \"minimise\"
cost = 1
[objectives.drag]
direction = \"minimise\"
cost = 4
";

const HEAD: [&str; 5] = ["length", "layers", "material", "mass", "drag"];

fn head(sheet: &mut Worksheet, row: u32) {
    sheet.write_row(row, 0, HEAD).unwrap();
}

/// A study beside a workbook whose first sheet is `filled`.
fn place(fill: impl FnOnce(&mut Worksheet)) -> Place {
    let place = Place::new(STUDY);
    let mut workbook = Workbook::new();
    fill(workbook.add_worksheet());
    workbook.save(place.path("old.xlsx")).unwrap();
    place
}

#[test]
fn a_sheet_is_imported_with_numbers_as_text_and_blank_cells() {
    let place = place(|sheet| {
        head(sheet, 0);
        sheet.write_row(1, 0, [1.5, 2.0]).unwrap();
        sheet.write_row(1, 2, ["oak"]).unwrap();
        sheet.write_row(1, 3, [0.125, -3.0]).unwrap();
        // As somebody with another locale types it, and as formulas leave it.
        sheet.write_row(3, 0, [" 2,5 ", "3,0", "steel", "0,25", "NA"]).unwrap();
        sheet.write_row(4, 0, [3.5, 4.0]).unwrap();
        sheet.write_row(4, 2, ["oak"]).unwrap();
        sheet.write_formula(4, 3, Formula::new("A5*2").set_result("7")).unwrap();
        sheet.write_formula(4, 4, Formula::new("NA()").set_result("#N/A")).unwrap();
    });
    let said = place.text(&["import", "old.xlsx", "--dry-run"]);
    let expected = "  mass = 0.125 at length=1.5 layers=2 material=oak
  drag = -3 at length=1.5 layers=2 material=oak
  mass = 0.25 at length=2.5 layers=3 material=steel
  mass = 7 at length=3.5 layers=4 material=oak
note: numbers that are stored as text are read with a decimal comma
4 values would be imported
nothing was changed: this was a preview
";
    assert_eq!(said, expected);
    assert!(place.text(&["import", "old.xlsx"]).contains("4 values imported"));
    let again = place.text(&["import", "old.xlsx"]);
    assert!(again.contains("0 values imported, 4 known already"), "{again}");
}

#[test]
fn mistakes_are_told_row_by_row_with_what_spreadsheets_do() {
    let place = place(|sheet| {
        head(sheet, 0);
        let date = ExcelDateTime::from_ymd(2026, 5, 1).unwrap();
        let style = Format::new().set_num_format("yyyy-mm-dd");
        sheet.write_datetime_with_format(1, 0, &date, &style).unwrap();
        sheet.write(1, 1, 2).unwrap();
        sheet.write_row(1, 2, ["oak", "1"]).unwrap();
        sheet.write_row(2, 0, [1.0, 2.5]).unwrap();
        sheet.write_row(2, 2, ["oak", "1"]).unwrap();
        sheet.write_row(3, 0, [1.0, 2.0]).unwrap();
        sheet.write_row(3, 2, ["oak"]).unwrap();
        sheet.write_formula(3, 3, Formula::new("1/0").set_result("#DIV/0!")).unwrap();
        sheet.write_row(4, 0, [1.0, 2.0]).unwrap();
        sheet.write_row(4, 2, ["oak"]).unwrap();
        sheet.write_formula(4, 3, Formula::new("A2*3").set_result("")).unwrap();
        sheet.write_row(5, 0, [1.0, 2.0]).unwrap();
        sheet.write(5, 2, true).unwrap();
        sheet.write(5, 3, 1).unwrap();
    });
    let said = place.fails(&["import", "old.xlsx"], 1);
    for expected in [
        "old.xlsx:2: length is \"2026-05-01\", but must be a number; spreadsheets turn numbers into dates",
        "old.xlsx:3: layers is \"2.5\", but must be an integer",
        "old.xlsx:4: mass is \"#DIV/0!\", but must be a number, or blank if it was not measured; a formula",
        "old.xlsx:6: ",
        "mistakes, nothing was imported; --skip-bad leaves such rows out",
    ] {
        assert!(said.contains(expected), "{expected}: {said}");
    }
}

#[test]
fn titles_above_the_names_and_merged_cells_are_told() {
    let place = place(|sheet| {
        let plain = Format::new();
        sheet.write(0, 0, "Results of week 3").unwrap();
        sheet.merge_range(1, 0, 1, 2, "What was built", &plain).unwrap();
        sheet.merge_range(1, 3, 1, 4, "What came out", &plain).unwrap();
        head(sheet, 2);
        sheet.merge_range(3, 0, 4, 0, "", &plain).unwrap();
        sheet.write(3, 0, 1.5).unwrap();
        for row in [3, 4] {
            sheet.write(row, 1, row).unwrap();
            sheet.write(row, 2, "oak").unwrap();
            sheet.write(row, 3, 0.5).unwrap();
        }
    });
    let said = place.fails(&["import", "old.xlsx"], 1);
    assert!(said.contains("old.xlsx:5: length is blank, but a parameter needs a value"), "{said}");
    assert!(said.contains("note: A4:A5 are merged; the value counts only for the first"), "{said}");
    let said = place.text(&["import", "old.xlsx", "--skip-bad"]);
    assert!(said.contains("note: the names of columns are in row 3"), "{said}");
    assert!(said.contains("1 value imported, 1 row left out"), "{said}");
}

#[test]
fn remarks_beside_a_table_are_no_rows_and_cells_far_from_it_are_told() {
    let fill = |sheet: &mut Worksheet| {
        head(sheet, 0);
        sheet.write(0, 5, "remark").unwrap();
        sheet.write_row(1, 0, ["1", "2", "oak", "0.5"]).unwrap();
        sheet.write(2, 5, "the oven was cold").unwrap();
    };
    let near = place(fill);
    let said = near.text(&["import", "old.xlsx"]);
    assert!(said.contains("note: line 3 has no design and no values\n"), "{said}");
    assert!(said.contains("1 value imported\n"), "{said}");
    let far = place(|sheet| {
        fill(sheet);
        sheet.write(1_048_575, 16_383, "x").unwrap();
    });
    let said = far.fails(&["import", "old.xlsx"], 1);
    assert!(said.contains("reaches to XFD1048576; delete what is far from its table"), "{said}");
}

#[test]
fn sheets_are_chosen_by_name() {
    let place = Place::new(STUDY);
    let mut workbook = Workbook::new();
    workbook.add_worksheet().set_name("Notes").unwrap().write(0, 0, "nothing here").unwrap();
    let sheet = workbook.add_worksheet().set_name("Week 3").unwrap();
    head(sheet, 0);
    sheet.write_row(1, 0, ["1", "2", "oak", "0.5"]).unwrap();
    workbook.save(place.path("old.xlsx")).unwrap();
    let said = place.fails(&["import", "old.xlsx"], 1);
    assert!(said.contains("there is no column for the parameter \"length\""), "{said}");
    let which = "the first sheet, \"Notes\", is read; --sheet NAME reads another: \"Week 3\"";
    assert!(said.contains(which), "{said}");
    let said = place.fails(&["import", "old.xlsx", "--sheet", "Week3"], 1);
    assert!(
        said.contains("has no sheet \"Week3\"; its sheets are \"Notes\", \"Week 3\""),
        "{said}"
    );
    assert_eq!(place.text(&["import", "old.xlsx", "--sheet", "Week 3"]), "1 value imported\n");
}

#[test]
fn files_that_are_no_workbooks_are_refused_with_what_would_help() {
    let place = Place::new(STUDY);
    place.write("old.xlsx", "length,layers\n");
    place.write("old.csv", "length,layers\n");
    place.write("old.parquet", "PAR1");
    for (arguments, expected) in [
        (&["import", "old.xlsx"][..], "old.xlsx cannot be read as a workbook: "),
        (&["import", "none.xlsx"], "none.xlsx"),
        (&["import", "old.csv", "--sheet", "A"], "old.csv is no workbook"),
        (&["import", "old.xlsx", "--delimiter", "tab"], "leave out --delimiter"),
        (&["import", "old.parquet"], "convert it to CSV"),
    ] {
        let said = place.fails(arguments, 1);
        assert!(said.contains(expected), "{arguments:?}: {said}");
    }
}

#[test]
fn a_worksheet_may_come_back_as_a_workbook() {
    let place = Place::new(STUDY);
    let asked = place.text(&["ask", "--count", "3", "--csv"]);
    let mut reader = csv::Reader::from_reader(asked.as_bytes());
    let mut workbook = Workbook::new();
    let sheet = workbook.add_worksheet();
    let head: Vec<String> = reader.headers().unwrap().iter().map(str::to_owned).collect();
    sheet.write_row(0, 0, head.iter().map(String::as_str)).unwrap();
    for (i, record) in reader.records().enumerate() {
        for (column, cell) in record.unwrap().iter().enumerate() {
            let (row, column) = (i as u32 + 1, column as u16);
            // A spreadsheet makes numbers of what looks like one.
            match cell.parse::<f64>() {
                Ok(number) => sheet.write(row, column, number).unwrap(),
                Err(_) => sheet.write(row, column, cell).unwrap(),
            };
        }
        let measured = ["mass", "drag"].map(|name| head.iter().position(|one| one == name));
        for column in measured.into_iter().flatten() {
            let is_free = reader_cell(&asked, i, column).is_empty();
            if is_free && i < 2 {
                sheet.write(i as u32 + 1, column as u16, 2.5).unwrap();
            }
        }
    }
    workbook.save(place.path("monday.xlsx")).unwrap();
    let said = place.text(&["tell", "--csv", "monday.xlsx"]);
    assert!(said.contains("evaluation 0 is recorded as 2.5"), "{said}");
    assert!(said.contains("2 evaluations recorded, 1 still pending"), "{said}");
    assert!(!said.contains("was made at"), "digits survive: {said}");
}

fn reader_cell(text: &str, row: usize, column: usize) -> String {
    let record = csv::Reader::from_reader(text.as_bytes()).records().nth(row).unwrap().unwrap();
    record[column].to_owned()
}
