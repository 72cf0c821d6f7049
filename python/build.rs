//! On macOS a module is linked before the interpreter that will load it is known.

fn main() {
    pyo3_build_config::add_extension_module_link_args();
}
