// Reads properties of an SQLite file without SQLite, because opening a file with SQLite may change the file.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

namespace kvcap {

// How SQLite makes transactions safe. `wal` is faster and allows reads during a write, but processes that
// open the file must share memory, so they must run on one machine. `rollback` needs only file locks.
enum class JournalMode : uint8_t { wal, rollback };

// Returns `wal` for file systems known to be local, otherwise `rollback`. `magic`: f_type of statfs(2).
JournalMode journal_mode_on(int64_t magic);
// Returns the journal mode for the file system of `path`, or of its folder if the file does not exist yet.
JournalMode journal_mode_at(const std::string& path);

// Fields of a database header, https://www.sqlite.org/fileformat2.html#the_database_header.
struct DatabaseHeader {
  JournalMode journal_mode = JournalMode::rollback;
  uint32_t application_id = 0;
};

// Returns nothing for a missing or an empty file. Throws InputError if the file is not a database or cannot
// be read.
std::optional<DatabaseHeader> read_database_header(const std::string& path);

}  // namespace kvcap
