// What is known of a database file before SQLite opens it, which may change it.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

namespace kvcap {

// How a transaction is made safe. With `wal` others read while a row is written, and writing is faster; but
// all who have the file open must share memory, so they must run on one machine. With `rollback` only locks
// are shared.
enum class JournalMode : uint8_t { wal, rollback };

// `magic`: f_type of statfs(2). `wal` for the file systems that are known to be local, else `rollback`.
JournalMode journal_mode_on(int64_t magic);
// Of the file system that `path`, or the folder that it is to lie in, lies on.
JournalMode journal_mode_at(const std::string& path);

// Of the header of a database, https://www.sqlite.org/fileformat2.html#the_database_header.
struct DatabaseHeader {
  JournalMode journal_mode = JournalMode::rollback;
  uint32_t application_id = 0;
};

// Nothing for an absent or an empty file. Throws InputError for what is no database and what cannot be read.
std::optional<DatabaseHeader> read_database_header(const std::string& path);

}  // namespace kvcap
