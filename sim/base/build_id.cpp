#include "base/build_id.h"

#include <elf.h>
#include <link.h>

#include <cstddef>
#include <cstring>

namespace kvcap {
namespace {

constexpr std::size_t aligned(std::size_t bytes) { return (bytes + 3) / 4 * 4; }

// Returns the hexadecimal build id in a segment of ELF notes, or "" if there is none. A note is a header,
// followed by its name and its description.
std::string build_id_in(const char* notes, std::size_t bytes) {
  for (std::size_t at = 0; at + sizeof(ElfW(Nhdr)) <= bytes;) {
    ElfW(Nhdr) header;
    std::memcpy(&header, notes + at, sizeof(header));
    const std::size_t name = at + sizeof(header);
    const std::size_t description = name + aligned(header.n_namesz);
    at = description + aligned(header.n_descsz);
    if (at > bytes) break;
    if (header.n_type != NT_GNU_BUILD_ID || std::strncmp(notes + name, ELF_NOTE_GNU, header.n_namesz) != 0)
      continue;
    std::string digits;
    for (std::size_t i = 0; i < header.n_descsz; ++i) {
      const auto byte = static_cast<unsigned char>(notes[description + i]);
      digits += "0123456789abcdef"[byte / 16];
      digits += "0123456789abcdef"[byte % 16];
    }
    return digits;
  }
  return "";
}

// dl_iterate_phdr passes the program first; returning 1 skips the libraries.
int look(dl_phdr_info* object, std::size_t, void* id) {
  for (int i = 0; i < object->dlpi_phnum; ++i) {
    const ElfW(Phdr)& segment = object->dlpi_phdr[i];
    if (segment.p_type != PT_NOTE) continue;
    const ElfW(Addr) address = object->dlpi_addr + segment.p_vaddr;
    const auto* notes = reinterpret_cast<const char*>(address);  // NOLINT(performance-no-int-to-ptr)
    const std::string found = build_id_in(notes, segment.p_memsz);
    if (!found.empty()) *static_cast<std::string*>(id) = found;
  }
  return 1;
}

}  // namespace

std::string linker_build_id() {
  std::string id;
  dl_iterate_phdr(look, &id);
  return id;
}

}  // namespace kvcap
