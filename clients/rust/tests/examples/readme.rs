use std::fs;

/// The programs in the README are example bots, which are compiled with all others.
#[test]
fn readme() {
    let readme = fs::read_to_string("README.md").unwrap();
    let programs: Vec<&str> = readme.split("```rust\n").skip(1).map(|rest| rest.split_once("```").unwrap().0).collect();
    let sources: String =
        ["first", "counting"].map(|name| fs::read_to_string(format!("examples/{name}.rs")).unwrap()).concat();
    assert_eq!(programs.len(), 2);
    for program in programs {
        assert!(sources.contains(program), "this is no example:\n{program}");
    }
}
