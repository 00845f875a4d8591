//! The processors and what may stand beneath them.

use std::fs;

use super::{Facts, Roots, Wanted, read};

/// Key of the page size in the auxiliary vector (`AT_PAGESZ` of `include/uapi/linux/auxvec.h`).
const AT_PAGESZ: usize = 6;

/// Adds `cpu_model`, `cpus_online`, `hypervisor` and `page_size_bytes`.
pub(super) fn add(roots: &Roots, facts: &mut Facts) {
    let cpuinfo_path = roots.proc_root.join("cpuinfo");
    let cpuinfo = read(&cpuinfo_path);
    let model = cpuinfo.clone().and_then(|text| {
        cpu_model(&text).ok_or_else(|| format!("{} names no model", cpuinfo_path.display()))
    });
    facts.add("cpu_model", model, Wanted::Yes);
    let online_path = roots.sys_root.join("devices/system/cpu/online");
    let online = read(&online_path).and_then(|list| {
        let count = count_list(&list)
            .ok_or_else(|| format!("{}: {list:?} is not a list of CPUs", online_path.display()))?;
        Ok(count.to_string())
    });
    facts.add("cpus_online", online, Wanted::Yes);
    let hypervisor = cpuinfo.and_then(|text| {
        hypervisor(roots, &text).ok_or_else(|| format!("{} has no flags", cpuinfo_path.display()))
    });
    facts.add("hypervisor", hypervisor, Wanted::No);
    let auxv_path = roots.proc_root.join("self/auxv");
    let page_size = fs::read(&auxv_path)
        .map_err(|error| format!("cannot read {}: {error}", auxv_path.display()))
        .and_then(|auxv| {
            let size_bytes = page_size_bytes(&auxv)
                .ok_or_else(|| format!("{} has no page size", auxv_path.display()))?;
            Ok(size_bytes.to_string())
        });
    facts.add("page_size_bytes", page_size, Wanted::Yes);
}

/// The value of the first line of `/proc/cpuinfo` with this key.
fn field<'a>(cpuinfo: &'a str, key: &str) -> Option<&'a str> {
    cpuinfo.lines().find_map(|line| {
        let (name, value) = line.split_once(':')?;
        (name.trim() == key && !value.trim().is_empty()).then(|| value.trim())
    })
}

/// The processor's name; 64-bit ARM has numbers instead of a name.
fn cpu_model(cpuinfo: &str) -> Option<String> {
    let named = ["model name", "Model", "cpu", "uarch"].iter().find_map(|key| field(cpuinfo, key));
    if let Some(name) = named {
        return Some(name.to_owned());
    }
    let implementer = field(cpuinfo, "CPU implementer")?;
    let part = field(cpuinfo, "CPU part")?;
    Some(format!("implementer {implementer} part {part}"))
}

/// What the kernel runs on: `none` is the bare machine; `None` if nothing tells.
fn hypervisor(roots: &Roots, cpuinfo: &str) -> Option<String> {
    if let Ok(kind) = read(&roots.sys_root.join("hypervisor/type")) {
        return Some(kind);
    }
    let guest = field(cpuinfo, "flags")?.split(' ').any(|flag| flag == "hypervisor");
    if !guest {
        return Some("none".to_owned());
    }
    let dmi = ["sys_vendor", "product_name"]
        .iter()
        .filter_map(|name| read(&roots.sys_root.join("class/dmi/id").join(name)).ok())
        .filter(|text| !text.is_empty())
        .collect::<Vec<_>>();
    Some(if dmi.is_empty() { "unknown".to_owned() } else { dmi.join(" ") })
}

/// How many numbers are in a list such as `0-3,8`.
fn count_list(list: &str) -> Option<u64> {
    list.split(',').try_fold(0_u64, |count, range| {
        let (first, last) = range.split_once('-').unwrap_or((range, range));
        let (first, last): (u64, u64) = (first.parse().ok()?, last.parse().ok()?);
        count.checked_add(last.checked_sub(first)?.checked_add(1)?)
    })
}

/// The page size in the auxiliary vector of a process: pairs of machine words, key and value.
fn page_size_bytes(auxv: &[u8]) -> Option<usize> {
    const WORD_BYTES: usize = size_of::<usize>();
    auxv.chunks_exact(2 * WORD_BYTES).find_map(|pair| {
        let key = usize::from_ne_bytes(pair[..WORD_BYTES].try_into().ok()?);
        let value = usize::from_ne_bytes(pair[WORD_BYTES..].try_into().ok()?);
        (key == AT_PAGESZ).then_some(value)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lists_of_cpus_are_counted() {
        assert_eq!(count_list("0-3,8"), Some(5));
        assert_eq!(count_list("0"), Some(1));
        for bad in ["", "3-0", "a", "0-", "0-18446744073709551615"] {
            assert_eq!(count_list(bad), None, "{bad:?}");
        }
    }

    #[test]
    fn arm_has_numbers_for_a_name() {
        let text = "processor\t: 0\nCPU implementer\t: 0x41\nCPU part\t: 0xd0c\n";
        assert_eq!(cpu_model(text).as_deref(), Some("implementer 0x41 part 0xd0c"));
        assert_eq!(cpu_model("processor : 0\n"), None);
    }
}
