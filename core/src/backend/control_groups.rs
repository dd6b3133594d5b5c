//! Memory left by control groups: of the one that this process is in, as a batch system or a
//! service manager makes it, and of those around it.

use std::path::Path;

/// A version of control groups.
struct Version {
    /// Where its groups are folders.
    root: &'static str,
    limit: &'static str,
    usage: &'static str,
    /// The statistics' name for contents of files that can be read again.
    files: &'static str,
    /// The controller that its line in a process's list of groups names, if there are several.
    controller: &'static str,
}

const VERSIONS: [Version; 2] = [
    Version {
        root: "/sys/fs/cgroup",
        limit: "memory.max",
        usage: "memory.current",
        files: "inactive_file",
        controller: "",
    },
    Version {
        root: "/sys/fs/cgroup/memory",
        limit: "memory.limit_in_bytes",
        usage: "memory.usage_in_bytes",
        files: "total_inactive_file",
        controller: "memory",
    },
];

/// The least bytes that a group of this process has left; `None` if there are no groups with a limit.
pub(super) fn left() -> Option<u64> {
    let list = std::fs::read_to_string("/proc/self/cgroup").unwrap_or_default();
    VERSIONS.iter().filter_map(|version| version.left(Path::new(version.root), &list)).min()
}

impl Version {
    /// Where the groups are seen from inside, as in a container, the paths may name folders that are not there.
    fn left(&self, root: &Path, list: &str) -> Option<u64> {
        let path = Path::new(self.path(list).unwrap_or("/"));
        let folders = path.ancestors().filter_map(|path| path.strip_prefix("/").ok());
        folders.filter_map(|path| self.left_in(&root.join(path))).min()
    }

    /// The path of the group in lines such as `4:memory,cpu:/job/7`.
    fn path<'l>(&self, list: &'l str) -> Option<&'l str> {
        list.lines().find_map(|line| {
            let (controllers, path) = line.split_once(':')?.1.split_once(':')?;
            controllers.split(',').any(|name| name == self.controller).then_some(path)
        })
    }

    /// Bytes left: what the group holds already, ours included, is not there any more, but for files that the system
    /// only keeps as long as the room is not needed.
    fn left_in(&self, folder: &Path) -> Option<u64> {
        let number = |name| read(&folder.join(name))?.trim().parse::<u64>().ok();
        let statistics = read(&folder.join("memory.stat")).unwrap_or_default();
        let used = number(self.usage)?;
        let files = amount(&statistics, self.files).unwrap_or(0);
        Some(number(self.limit)?.saturating_sub(used.saturating_sub(files)))
    }
}

fn read(path: &Path) -> Option<String> {
    std::fs::read_to_string(path).ok()
}

/// The number behind a name that starts a line.
pub(super) fn amount(text: &str, name: &str) -> Option<u64> {
    let mut lines = text.lines().map(str::split_whitespace);
    let mut words = lines.find_map(|mut words| (words.next() == Some(name)).then_some(words))?;
    words.next()?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_smallest_group_around_the_process_counts() {
        let root = std::env::temp_dir().join(format!("porcini-groups-{}", std::process::id()));
        let group = |path: &str, limit: &str, usage: &str| {
            let folder = root.join(path);
            std::fs::create_dir_all(&folder).unwrap();
            let files = [
                ("memory.max", limit),
                ("memory.current", usage),
                ("memory.stat", "anon 5\ninactive_file 30\n"),
            ];
            for (name, text) in files {
                std::fs::write(folder.join(name), text).unwrap();
            }
        };
        group("job", "1000\n", "130\n");
        group("job/step", "max\n", "100\n");
        group("job/small", "100\n", "200\n");
        let [second, _] = &VERSIONS;
        for (list, left) in [
            ("0::/job/step\n", Some(900)),
            ("3:cpuset:/\n0::/job/small\n", Some(0)),
            ("0::/elsewhere\n", None),
            ("0::/job/of/another/container\n", Some(900)),
            ("", None),
        ] {
            assert_eq!(second.left(&root, list), left, "{list}");
        }
        std::fs::remove_dir_all(&root).unwrap();
        let list = "7:cpu,memory:/a\n0::/b\n";
        assert_eq!(VERSIONS.each_ref().map(|version| version.path(list)), [Some("/b"), Some("/a")]);
    }
}
