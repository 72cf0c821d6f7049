//! The order of modules: in every crate a module uses only itself and modules above it.
#![allow(clippy::unwrap_used, clippy::panic)]

use proc_macro2::{Delimiter, TokenStream, TokenTree};
use quote::ToTokens;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use syn::{Attribute, Item, UseTree};

#[test]
fn a_module_uses_only_modules_above_it() {
    let workspace = Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap();
    let mut crates: Vec<PathBuf> =
        std::fs::read_dir(workspace.join("crates")).unwrap().map(|e| e.unwrap().path()).collect();
    crates.extend(["python", "xtask"].map(|folder| workspace.join(folder)));
    crates.sort();
    let roots = crates.iter().flat_map(|c| ["src/lib.rs", "src/main.rs"].map(|file| c.join(file)));
    let roots: Vec<PathBuf> = roots.filter(|root| root.exists()).collect();
    assert!(roots.len() >= 10, "{roots:?}");
    let wrong: Vec<String> = roots.iter().flat_map(|root| Crate::read(root).wrong_uses()).collect();
    assert!(wrong.is_empty(), "\n{}", wrong.join("\n"));
}

#[test]
fn uses_of_modules_below_are_found_wherever_they_stand() {
    let root = "mod a; mod b; mod c; pub use c::{Deep, Other as Renamed}; fn own() {}";
    let root = Crate::parse(root);
    let wrong = |text: &str| root.wrong_in("b", 1, &parse(text));
    for fine in [
        "use crate::a::X; use crate::b::Y; use super::a;",
        "#[cfg(test)] mod tests { use crate::c::Z; }",
        "#[cfg(test)] use crate::c::Z;",
        "/// See [`crate::c::Z`].\nfn f() { self::g(); other::c::h() }",
    ] {
        assert_eq!(wrong(fine), [""; 0], "{fine}");
    }
    for (bad, name) in [
        ("use crate::c::Z;", "c"),
        ("use crate::{a::X, c::Z};", "c"),
        ("use super::c::Z;", "c"),
        ("mod inner { use super::super::c::Z; }", "c"),
        ("fn f() { let x = crate::c::g(); }", "c"),
        ("fn f() { println!(\"{}\", crate::c::g()); }", "c"),
        ("impl crate::Deep {}", "Deep"),
        ("use crate::Renamed;", "Renamed"),
        ("use crate::own;", "own"),
    ] {
        assert_eq!(wrong(bad), [name], "{bad}");
    }
}

/// The root file of a crate.
struct Crate {
    path: PathBuf,
    items: Vec<Item>,
    /// The modules in order.
    modules: Vec<String>,
    /// For each name that the root takes from a module, that module.
    taken: BTreeMap<String, String>,
}

impl Crate {
    fn read(path: &Path) -> Self {
        let text = std::fs::read_to_string(path).unwrap();
        Self { path: path.to_owned(), ..Self::parse(&text) }
    }

    fn parse(text: &str) -> Self {
        let items = parse(text);
        let (mut modules, mut taken) = (vec![], BTreeMap::new());
        for item in &items {
            match item {
                Item::Mod(module) => modules.push(module.ident.to_string()),
                Item::Use(item) => {
                    if let UseTree::Path(path) = &item.tree {
                        let module = path.ident.to_string();
                        let names = names(&path.tree).into_iter();
                        taken.extend(names.map(|name| (name, module.clone())));
                    }
                }
                _ => {}
            }
        }
        Self { path: PathBuf::new(), items, modules, taken }
    }

    /// One line for each use that goes the wrong way.
    fn wrong_uses(&self) -> Vec<String> {
        let mut wrong = vec![];
        for module in declared(&self.items) {
            let mut files = vec![];
            collect(&self.path.parent().unwrap().join(&module), 1, &mut files);
            assert!(!files.is_empty(), "{module} of {} has no file", self.path.display());
            for File { path, depth, items } in files {
                let uses = self.wrong_in(&module, depth, &items).into_iter();
                wrong.extend(uses.map(|name| format!("{} uses crate::{name}", path.display())));
            }
        }
        wrong
    }

    /// The names of the root that a file of `module`, `depth` modules below it, must not use.
    fn wrong_in(&self, module: &str, depth: usize, items: &[Item]) -> Vec<String> {
        let place = |name: &str| self.modules.iter().position(|module| module == name);
        let is_wrong = |name: &String| {
            let used = place(name).or_else(|| place(self.taken.get(name)?));
            used.is_none_or(|used| Some(used) > place(module))
        };
        uses(depth, items).into_iter().filter(is_wrong).collect()
    }
}

/// A source file, `depth` modules below the root of its crate.
struct File {
    path: PathBuf,
    depth: usize,
    items: Vec<Item>,
}

/// The file of the module at `stem` and those of the modules in it.
fn collect(stem: &Path, depth: usize, files: &mut Vec<File>) {
    let Some(path) =
        [stem.with_extension("rs"), stem.join("mod.rs")].into_iter().find(|p| p.exists())
    else {
        return;
    };
    let items = parse(&std::fs::read_to_string(&path).unwrap());
    for module in declared(&items) {
        collect(&stem.join(module), depth + 1, files);
    }
    files.push(File { path, depth, items });
}

/// The items of a file that are not for tests only.
fn parse(text: &str) -> Vec<Item> {
    let items = syn::parse_file(text).unwrap().items;
    items.into_iter().filter(|item| !is_for_tests(item)).collect()
}

fn is_for_tests(item: &Item) -> bool {
    let text = |attribute: &Attribute| attribute.to_token_stream().to_string().replace(' ', "");
    attributes(item).iter().any(|attribute| text(attribute) == "#[cfg(test)]")
}

fn attributes(item: &Item) -> &[Attribute] {
    match item {
        Item::Const(item) => &item.attrs,
        Item::Enum(item) => &item.attrs,
        Item::Fn(item) => &item.attrs,
        Item::Impl(item) => &item.attrs,
        Item::Macro(item) => &item.attrs,
        Item::Mod(item) => &item.attrs,
        Item::Static(item) => &item.attrs,
        Item::Struct(item) => &item.attrs,
        Item::Trait(item) => &item.attrs,
        Item::Type(item) => &item.attrs,
        Item::Use(item) => &item.attrs,
        _ => &[],
    }
}

/// Modules that have a file of their own.
fn declared(items: &[Item]) -> Vec<String> {
    let module = |item: &Item| match item {
        Item::Mod(module) if module.content.is_none() => Some(module.ident.to_string()),
        _ => None,
    };
    items.iter().filter_map(module).collect()
}

/// The names that a tree of imports brings in.
fn names(tree: &UseTree) -> Vec<String> {
    match tree {
        UseTree::Path(path) => names(&path.tree),
        UseTree::Name(name) => vec![name.ident.to_string()],
        UseTree::Rename(name) => vec![name.rename.to_string()],
        UseTree::Glob(_) => panic!("a root that takes everything from a module hides what is used"),
        UseTree::Group(group) => group.items.iter().flat_map(names).collect(),
    }
}

/// Names of the root of the crate that items use, `depth` modules below it.
fn uses(depth: usize, items: &[Item]) -> Vec<String> {
    let mut found = vec![];
    for item in items.iter().filter(|item| !is_for_tests(item)) {
        match item {
            Item::Mod(module) => {
                let inner = module.content.as_ref().map_or(&[][..], |(_, items)| items);
                found.extend(uses(depth + 1, inner));
            }
            item => scan(item.to_token_stream(), depth, &mut found),
        }
    }
    found
}

/// Looks for `crate::name`, and `super::name` where that is the same, also inside macros.
fn scan(tokens: TokenStream, depth: usize, found: &mut Vec<String>) {
    let tokens: Vec<TokenTree> = tokens.into_iter().collect();
    let is = |i: usize, text: &str| tokens.get(i).is_some_and(|token| token.to_string() == text);
    let path = |i: usize| is(i, ":") && is(i + 1, ":");
    let mut i = 0;
    while i < tokens.len() {
        if let TokenTree::Group(group) = &tokens[i] {
            scan(group.stream(), depth, found);
        }
        let mut supers = 0;
        let mut after = i + 1;
        if is(i, "super") {
            supers = 1;
            while path(after) && is(after + 2, "super") {
                supers += 1;
                after += 3;
            }
        }
        if (is(i, "crate") || supers == depth) && path(after) {
            add_names(&tokens[after + 2..], found);
        }
        i = after;
    }
}

/// The name at the start of `tokens`, or those in a group of imports.
fn add_names(tokens: &[TokenTree], found: &mut Vec<String>) {
    match tokens.first() {
        Some(TokenTree::Ident(name)) => found.push(name.to_string()),
        Some(TokenTree::Group(group)) if group.delimiter() == Delimiter::Brace => {
            let inner: Vec<TokenTree> = group.stream().into_iter().collect();
            for one in inner.split(|token| token.to_string() == ",") {
                add_names(one, found);
            }
        }
        _ => {}
    }
}
