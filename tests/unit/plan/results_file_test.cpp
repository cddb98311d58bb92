// Results files on the file systems of this machine and of a network, left by the living and by the dead.
#include "plan/sweep/results_file.h"

#include <gtest/gtest.h>
#include <sqlite3.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>
#include <string>

#include "base/input_error.h"
#include "unit/process.h"

namespace kvcap::results_file_test {
namespace {

namespace fs = std::filesystem;

class ResultsFiles : public testing::Test {
 protected:
  ResultsFiles() : folder_(fs::temp_directory_path() / ("kvcap_results_" + std::to_string(getpid()))) {
    fs::create_directories(folder_);
  }
  ~ResultsFiles() override { fs::remove_all(folder_); }

  std::string path(const std::string& name = "results.sqlite") const { return (folder_ / name).string(); }
  std::map<std::string, std::string> contents() const {
    std::map<std::string, std::string> files;
    for (const auto& entry : fs::directory_iterator(folder_)) {
      std::ifstream file(entry.path(), std::ios::binary);
      files[entry.path().filename()] = {std::istreambuf_iterator<char>(file), {}};
    }
    return files;
  }
  static void run(const std::string& path, const std::string& sql) {
    sqlite3* database = nullptr;
    ASSERT_EQ(sqlite3_open(path.c_str(), &database), SQLITE_OK);
    EXPECT_EQ(sqlite3_exec(database, sql.c_str(), nullptr, nullptr, nullptr), SQLITE_OK)
        << sqlite3_errmsg(database);
    sqlite3_close(database);
  }
  // A file of kvcap with one point that is asked for.
  static void write(const std::string& path, JournalMode mode) {
    ResultsFile file(path, mode);
    file.set_swept({"seed"}, 1, [](std::size_t) { return ResultsFile::SweptPoint{0, "a", {"1"}}; });
    file.put({{.key = "a", .status = PointStatus::failed, .error = "x", .scenario_json = "{}"}});
  }
  // In a process that dies where it stands.
  template <class Work>
  static void killed_after(Work work) {
    wait_for_process(start_process(work));
  }
  static std::string error_of(const std::function<void()>& work) {
    try {
      work();
    } catch (const InputError& error) {
      return error.what();
    }
    return "";
  }
  static std::size_t rows_of(const std::string& path) {
    std::size_t rows = 0;
    read_results(path, [&rows](const auto&, const auto&, int64_t) { ++rows; });
    return rows;
  }

  fs::path folder_;
};

TEST(JournalModes, AreWalOnFileSystemsThatAreKnownToBeLocalAndElseRollback) {
  for (const int64_t local : {0xef53, 0x58465342, 0x01021994, 0x794c7630, 0x2fc12fc1})  // ext4 to zfs
    EXPECT_EQ(journal_mode_on(local), JournalMode::wal) << std::hex << local;
  EXPECT_EQ(journal_mode_on(0x9123683e), JournalMode::wal) << "btrfs, whose number has the highest bit";
  for (const int64_t shared :
       std::initializer_list<int64_t>{0x6969,      // NFS
                                      0xff534d42,  // CIFS
                                      0xfe534d42,  // SMB 2
                                      0x65735546,  // FUSE: sshfs, GlusterFS, and many more
                                      0x0bd00bd0,  // Lustre
                                      0x47504653,  // GPFS
                                      0x19830326,  // BeeGFS
                                      0x01021997,  // 9p
                                      0x00c36400,  // Ceph
                                      0x5346414f,  // AFS

                                      0x7461636f,   // OCFS2
                                      0x01161970})  // GFS2
    EXPECT_EQ(journal_mode_on(shared), JournalMode::rollback) << std::hex << shared;
  EXPECT_EQ(journal_mode_at("/proc/self/status"), JournalMode::rollback);
  EXPECT_EQ(journal_mode_at("/no/such/folder/results.sqlite"), JournalMode::rollback);
}

TEST_F(ResultsFiles, OfEachModeHaveWhatWasPutAndNothingBesideThem) {
  for (const JournalMode mode : {JournalMode::wal, JournalMode::rollback}) {
    write(path(), mode);
    EXPECT_EQ(contents().size(), 1U);
    EXPECT_EQ(read_database_header(path())->journal_mode, mode);
    EXPECT_EQ(rows_of(path()), 1U);
    EXPECT_EQ(contents().size(), 1U);
    fs::remove(path());
  }
}

TEST_F(ResultsFiles, ThatMoveToANetworkLeaveTheirWalWithoutLoss) {
  killed_after([this] {
    auto* file = new ResultsFile(path(), JournalMode::wal);
    file->set_swept({}, 1, [](std::size_t) { return ResultsFile::SweptPoint{0, "a", {}}; });
    file->put({{.key = "a", .scenario_json = "{}"}});
  });
  ASSERT_TRUE(fs::exists(path() + "-wal"));
  fs::remove(path() + "-shm");  // it does not travel
  ResultsFile file(path(), JournalMode::rollback);
  EXPECT_EQ(file.keys(), std::vector<std::string>{"a"});
  EXPECT_EQ(contents().size(), 1U);
  EXPECT_EQ(read_database_header(path())->journal_mode, JournalMode::rollback);
  // Others may read it now.
  EXPECT_EQ(rows_of(path()), 1U);
}

TEST_F(ResultsFiles, OfShardsInAWalAreTakenOverOnANetwork) {
  write(path("shard.sqlite"), JournalMode::wal);
  ResultsFile file(path(), JournalMode::rollback);
  file.set_swept({}, 1, [](std::size_t) { return ResultsFile::SweptPoint{0, "a", {}}; });
  file.take_from(path("shard.sqlite"));
  EXPECT_EQ(file.keys(), std::vector<std::string>{"a"});
  EXPECT_EQ(read_database_header(path("shard.sqlite"))->journal_mode, JournalMode::rollback);
}

// A reader must not take half a transaction for a result, and must not repair what it was asked to read.
TEST_F(ResultsFiles, OfAWriterThatDiedInATransactionAreMendedByTheNextWriterOnly) {
  write(path(), JournalMode::rollback);
  killed_after([this] {
    sqlite3* database = nullptr;
    sqlite3_open(path().c_str(), &database);
    sqlite3_exec(database,
                 "PRAGMA cache_size = 2; BEGIN; UPDATE points SET error = hex(zeroblob(100000)), key = 'b'",
                 nullptr, nullptr, nullptr);
  });
  ASSERT_GT(fs::file_size(path() + "-journal"), 0U);
  const auto before = contents();
  EXPECT_EQ(error_of([this] { rows_of(path()); }),
            path() + ": a sweep was stopped while it wrote this file; kvcap sweep --resume repairs it");
  EXPECT_EQ(contents(), before);
  EXPECT_EQ(ResultsFile(path(), JournalMode::rollback).keys(), std::vector<std::string>{"a"});
  EXPECT_EQ(rows_of(path()), 1U);
}

TEST_F(ResultsFiles, OfAnotherProgramAreRefusedBeforeAByteChanges) {
  run(path(), "PRAGMA journal_mode = DELETE; CREATE TABLE photos (name); INSERT INTO photos VALUES ('x')");
  run(path("wal"), "PRAGMA journal_mode = WAL; PRAGMA application_id = 7; CREATE TABLE points (key)");
  std::ofstream(path("text")) << std::string(5000, 'x');
  std::ofstream(path("short")) << "SQLite format 3";
  write(path("older"), JournalMode::wal);
  run(path("older"), "PRAGMA user_version = 0");
  write(path("other_columns"), JournalMode::wal);
  run(path("other_columns"), "ALTER TABLE points ADD COLUMN new_metric");
  const auto before = contents();
  const std::map<std::string, std::string> reasons = {
      {"results.sqlite", "is not a sweep results file, but a database of another program"},
      {"wal", "is not a sweep results file, but a database of another program"},
      {"text", "is not a sweep results file: not an SQLite database"},
      {"short", "is not a sweep results file: not an SQLite database"},
      {"older", "was written by another version of kvcap; choose another folder"},
      {"other_columns", "was written by another version of kvcap; choose another folder"}};
  for (const auto& [name, reason] : reasons) {
    for (const JournalMode mode : {JournalMode::wal, JournalMode::rollback}) {
      EXPECT_EQ(error_of([&, file = path(name)] { ResultsFile(file, mode); }), path(name) + ": " + reason);
      // Leaving a WAL is all that may happen to one of ours.
      if (name.starts_with("o") && mode == JournalMode::rollback) continue;
      EXPECT_EQ(contents(), before) << name;
    }
  }
  for (const char* name : {"results.sqlite", "wal", "text", "short"}) {
    EXPECT_EQ(error_of([&] { rows_of(path(name)); }), path(name) + ": " + reasons.at(name));
    EXPECT_EQ(error_of([&] { ResultsFile(path("mine")).take_from(path(name)); }),
              path(name) + ": " + reasons.at(name));
    EXPECT_EQ(contents().at(name), before.at(name));
  }
}

TEST_F(ResultsFiles, ThatAreNoFilesAreRefused) {
  fs::create_directory(path());
  EXPECT_EQ(error_of([this] { ResultsFile file(path()); }), path() + ": cannot be read: not a regular file");
}

}  // namespace
}  // namespace kvcap::results_file_test
