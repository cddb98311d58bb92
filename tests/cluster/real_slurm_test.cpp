// kvcap sweep --launcher slurm on a real Slurm: munged, slurmctld and slurmd of this test's own, on loopback
// and under one temporary folder.
#include <arpa/inet.h>
#include <fcntl.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <pwd.h>
#include <signal.h>
#include <sys/socket.h>

#include <array>
#include <chrono>
#include <cstdlib>
#include <random>
#include <sstream>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "unit/cli.h"
#include "unit/process.h"

namespace kvcap::real_slurm_test {
namespace {

namespace fs = std::filesystem;

// The path of a program, "" where it is not installed.
std::string program(const std::string& name) {
  for (const char* folder : {"/usr/sbin/", "/usr/bin/", "/usr/local/sbin/", "/usr/local/bin/"}) {
    if (access((folder + name).c_str(), X_OK) == 0) return folder + name;
  }
  return "";
}

// Two that differ: both are taken before either is given back.
std::array<int, 2> free_ports() {
  std::array<int, 2> sockets{}, ports{};
  for (std::size_t i = 0; i < ports.size(); ++i) {
    sockets[i] = socket(AF_INET, SOCK_STREAM, 0);
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t size = sizeof address;
    EXPECT_EQ(bind(sockets[i], reinterpret_cast<sockaddr*>(&address), size), 0);
    EXPECT_EQ(getsockname(sockets[i], reinterpret_cast<sockaddr*>(&address), &size), 0);
    ports[i] = ntohs(address.sin_port);
  }
  for (const int one : sockets) close(one);
  return ports;
}

class SlurmSweep : public Cli {
 protected:
  void SetUp() override {
    for (const char* name :
         {"munged", "slurmctld", "slurmd", "sbatch", "squeue", "scontrol", "scancel", "sinfo"}) {
      if (program(name).empty()) {
        GTEST_SKIP() << name
                     << " is not installed: --launcher slurm is NOT tested here (Debian: slurmctld slurmd "
                     << "slurm-client munge)";
      }
    }
    // Slurm's configuration takes no path with spaces.
    if (folder_.string().find(' ') != std::string::npos) {
      const fs::path without = "/tmp" / folder_.filename();
      fs::copy(folder_, without, fs::copy_options::recursive);
      fs::remove_all(std::exchange(folder_, without));
    }
    for (const char* name : {"state", "spool"}) fs::create_directory(path(name));
    write_key();
    const std::string configuration = path("slurm.conf");
    write("slurm.conf", this->configuration());
    setenv("SLURM_CONF", configuration.c_str(), 1);
    daemons_.push_back(
        start_daemon({program("munged"), "--foreground", "--force", "--key-file=" + path("key"),
                      "--socket=" + path("munge"), "--pid-file=" + path("munged.pid"),
                      "--log-file=" + path("munged.log"), "--seed-file=" + path("munged.seed")}));
    ASSERT_TRUE(comes_true([this] { return fs::exists(path("munge")); })) << read_file(path("munged.log"));
    daemons_.push_back(start_daemon({program("slurmctld"), "-D", "-f", configuration}));
    daemons_.push_back(start_daemon({program("slurmd"), "-D", "-f", configuration, "-N", "node"}));
    ASSERT_TRUE(comes_true([] {
      return said({"sinfo", "-h", "-o", "%T"}) == "idle\n";
    })) << read_file(path("slurmctld.log"))
        << read_file(path("slurmd.log"));
  }

  void TearDown() override {
    for (auto daemon = daemons_.rbegin(); daemon != daemons_.rend(); ++daemon) {
      kill(*daemon, SIGTERM);
      const bool ended = comes_true([&] { return waitpid(*daemon, nullptr, WNOHANG) != 0; });
      if (ended) continue;
      kill(*daemon, SIGKILL);
      waitpid(*daemon, nullptr, 0);
    }
  }

  void write_key() const {
    std::random_device random;
    std::string key;
    for (int i = 0; i < 128; ++i) key += static_cast<char>(random() & 0xff);
    write("key", key);
    fs::permissions(path("key"), fs::perms::owner_read | fs::perms::owner_write);
  }

  std::string configuration() const {
    const passwd* user = getpwuid(getuid());
    const std::string name = user ? user->pw_name : "root";
    std::array<char, 256> host{};
    gethostname(host.data(), host.size() - 1);
    std::string text = "ClusterName=kvcap\n";
    const auto set = [&text](const std::string& key, const std::string& value) {
      text += key + "=" + value + "\n";
    };
    set("SlurmctldHost", host.data() + std::string("(127.0.0.1)"));
    const std::array<int, 2> ports = free_ports();
    set("SlurmctldPort", std::to_string(ports[0]));
    set("SlurmdPort", std::to_string(ports[1]));
    set("SlurmUser", name);
    set("SlurmdUser", name);
    set("AuthType", "auth/munge");
    set("CredType", "cred/munge");
    set("AuthInfo", "socket=" + path("munge"));
    set("StateSaveLocation", path("state"));
    set("SlurmdSpoolDir", path("spool"));
    set("SlurmctldPidFile", path("slurmctld.pid"));
    set("SlurmdPidFile", path("slurmd.pid"));
    set("SlurmctldLogFile", path("slurmctld.log"));
    set("SlurmdLogFile", path("slurmd.log"));
    set("ProctrackType", "proctrack/linuxproc");
    set("TaskPlugin", "task/none");
    set("JobAcctGatherType", "jobacct_gather/none");
    set("AccountingStorageType", "accounting_storage/none");
    set("MpiDefault", "none");
    set("SlurmdParameters", "config_overrides");
    set("SchedulerParameters", "sched_interval=2");
    set("ReturnToService", "2");
    set("SelectType", "select/cons_tres");
    set("SelectTypeParameters", "CR_CPU");
    set("NodeName",
        "node NodeAddr=127.0.0.1 NodeHostname=" + std::string(host.data()) + " CPUs=2 State=UNKNOWN");
    set("PartitionName", "all Nodes=node Default=YES MaxTime=INFINITE State=UP");
    return text;
  }

  static pid_t start_daemon(const std::vector<std::string>& command) {
    return start_process([&] {
      const int nowhere = open("/dev/null", O_RDWR);
      for (int file : {0, 1, 2}) dup2(nowhere, file);
      std::vector<char*> argv;
      argv.reserve(command.size() + 1);
      for (const std::string& argument : command) argv.push_back(const_cast<char*>(argument.c_str()));
      argv.push_back(nullptr);
      execv(argv[0], argv.data());
      _exit(127);
    });
  }

  // What a program of Slurm prints.
  static std::string said(const std::vector<std::string>& command) {
    std::string line = program(command[0]);
    for (std::size_t i = 1; i < command.size(); ++i) line += " '" + command[i] + "'";
    return shell_output(line).text;
  }

  template <class Condition>
  static bool comes_true(const Condition& condition) {
    for (int i = 0; i < 600; ++i) {
      if (condition()) return true;
      std::this_thread::sleep_for(std::chrono::milliseconds(50));
    }
    return false;
  }

  std::vector<pid_t> daemons_;
};

TEST_F(SlurmSweep, GivesTheRowsOfALocalRunThoughATaskIsKilledAndTheNodeDrained) {
  write("s.json", R"({"schema": "kvcap.sweep/1", "base": "chat.json", "points": [{"workload.sessions": 3000}],
      "grid": {"policy.name": ["kv_offload", "hcache"], "seed": [1, 2, 3, 4, 5, 6, 7, 8, 9, 10]}})");
  ASSERT_EQ(kvcap({"sweep", path("s.json"), "--out", path("local")}).exit_code, 0);
  const std::string local =
      kvcap({"sweep", path("s.json"), "--out", path("local"), "--collect", "--json"}).out;

  const pid_t launcher = start({"sweep", path("s.json"), "--out", path("slurm"), "--launcher", "slurm",
                                "--jobs", "4", "--collect", "--json"});
  // A task that computes: its shard's file is there.
  std::string task;
  ASSERT_TRUE(comes_true([&] {
    std::istringstream running(said({"squeue", "-h", "-t", "RUNNING", "-o", "%i"}));
    while (std::getline(running, task)) {
      const std::string number = task.substr(task.find('_') + 1);
      if (fs::exists(path("slurm") + "/shards/" + number + "-of-4.sqlite")) return true;
    }
    return false;
  }));
  said({"scancel", "--signal=KILL", "--batch", task});
  said({"scontrol", "update", "NodeName=node", "State=DRAIN", "Reason=test"});
  EXPECT_NE(said({"sinfo", "-h", "-o", "%T"}).find("drain"), std::string::npos);
  std::this_thread::sleep_for(std::chrono::seconds(1));
  said({"scontrol", "update", "NodeName=node", "State=RESUME"});
  const Outcome outcome = finish(launcher);
  EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
  EXPECT_EQ(outcome.out, local);
  // The killed task's shard came again, alone.
  const std::string shard = task.substr(task.find('_') + 1);
  EXPECT_NE(outcome.err.find("shards 0-3 of 4;"), std::string::npos) << outcome.err;
  EXPECT_NE(outcome.err.find("shards " + shard + " of 4;"), std::string::npos) << outcome.err;
}

}  // namespace
}  // namespace kvcap::real_slurm_test
