#include "plan/sweep/slurm.h"

#include <fcntl.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <system_error>
#include <thread>

#include "base/files.h"
#include "base/input_error.h"
#include "base/text/print.h"

extern char** environ;

namespace kvcap {
namespace {

struct Ran {
  int exit_code = 0;
  std::string output;  // stdout and stderr, without the trailing line ends
};

// Runs a Slurm command, which is found in PATH, and waits for it.
Ran run_program(const std::vector<std::string>& command) {
  std::vector<char*> argv;
  argv.reserve(command.size() + 1);
  for (const std::string& argument : command) argv.push_back(const_cast<char*>(argument.c_str()));
  argv.push_back(nullptr);
  int ends[2];
  if (pipe2(ends, O_CLOEXEC) != 0) throw std::system_error(errno, std::generic_category(), "pipe");
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_adddup2(&actions, ends[1], STDOUT_FILENO);
  posix_spawn_file_actions_adddup2(&actions, ends[1], STDERR_FILENO);
  pid_t pid = -1;
  const int error = posix_spawnp(&pid, argv[0], &actions, nullptr, argv.data(), environ);
  posix_spawn_file_actions_destroy(&actions);
  close(ends[1]);
  if (error != 0) {
    close(ends[0]);
    throw InputError("--launcher slurm: " + command[0] + " cannot be run: " + std::strerror(error));
  }
  Ran ran;
  char buffer[4096];
  for (ssize_t got; (got = read(ends[0], buffer, sizeof buffer)) != 0;) {
    if (got > 0) ran.output.append(buffer, static_cast<std::size_t>(got));
    if (got < 0 && errno != EINTR) break;
  }
  close(ends[0]);
  int status = 0;
  waitpid(pid, &status, 0);
  ran.exit_code = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
  while (ran.output.ends_with('\n')) ran.output.pop_back();
  return ran;
}

// Quotes the text as one word for a shell.
std::string shell_quoted(const std::string& text) {
  std::string word = "'";
  for (char c : text) word += c == '\'' ? "'\\''" : std::string(1, c);
  return word + "'";
}

// Escapes the per cent signs of a path, because sbatch expands file name patterns.
std::string escaped(const std::string& path) {
  std::string text;
  for (char c : path) text += c == '%' ? "%%" : std::string(1, c);
  return text;
}

std::string submit(const SlurmArray& array, const std::string& script,
                   const std::vector<std::size_t>& shards) {
  const Ran ran =
      run_program({"sbatch", "--parsable", "--job-name=kvcap-sweep", "--array=" + slurm_list(shards),
                   "--output=" + escaped(array.folder) + "/%A_%a.log", script});
  if (ran.exit_code != 0) throw InputError("--launcher slurm: " + ran.output);
  // The job id is on the last line, as "12" or "12;cluster"; sbatch may print warnings before it.
  const std::string last = ran.output.substr(ran.output.rfind('\n') + 1);
  return last.substr(0, last.find(';'));
}

// Waits until no task of the job is queued or running. If the Slurm controller does not answer, repeats the
// query for at most 10 minutes.
void wait_for_job(const std::string& job, double patience_s) {
  constexpr double kLongest_s = 600;  // longest time without an answer
  double silent_s = 0;
  while (true) {
    const Ran ran = run_program({"squeue", "--noheader", "--format=%T", "--jobs=" + job});
    if (ran.exit_code == 0 ? ran.output.empty() : ran.output.find("Invalid job id") != std::string::npos)
      return;
    if (ran.exit_code != 0 && silent_s == 0) tell("sweep: squeue: " + ran.output + "; trying again");
    silent_s = ran.exit_code == 0 ? 0 : silent_s + patience_s;
    if (silent_s >= kLongest_s) {
      throw InputError("--launcher slurm: squeue has not answered for 10 minutes: " + ran.output + "; job " +
                       job + " is still queued or running; --collect merges its results");
    }
    std::this_thread::sleep_for(std::chrono::duration<double>(patience_s));
  }
}

}  // namespace

std::string slurm_list(const std::vector<std::size_t>& shards) {
  std::string list;
  for (std::size_t i = 0; i < shards.size();) {
    std::size_t last = i;
    while (last + 1 < shards.size() && shards[last + 1] == shards[last] + 1) ++last;
    list += (list.empty() ? "" : ",") + std::to_string(shards[i]);
    if (last > i) list += "-" + std::to_string(shards[last]);
    i = last + 1;
  }
  return list;
}

std::string slurm_script(const SlurmArray& array, const std::string& program) {
  std::string text = "#!/bin/sh\nexec " + shell_quoted(program);
  for (const std::string& argument : array.arguments) text += " " + shell_quoted(argument);
  return text + " --shard \"$SLURM_ARRAY_TASK_ID/" + std::to_string(array.shards) +
         "\" --jobs \"${SLURM_CPUS_PER_TASK:-1}\"\n";
}

std::vector<std::size_t> run_on_slurm(const SlurmArray& array,
                                      const std::function<bool(std::size_t)>& has_ended) {
  const std::string script = array.folder + "/array.sh";
  write_file(script, slurm_script(array, std::filesystem::read_symlink("/proc/self/exe").string()));
  for (int arrays = 0;; ++arrays) {
    std::vector<std::size_t> missing;
    for (std::size_t shard = 0; shard < array.shards; ++shard) {
      if (!has_ended(shard)) missing.push_back(shard);
    }
    if (missing.empty() || arrays == array.at_most) return missing;
    const std::string job = submit(array, script, missing);
    tell("sweep: submitted job " + job + ", shards " + slurm_list(missing) + " of " +
         std::to_string(array.shards) + "; to cancel it: scancel " + job);
    wait_for_job(job, array.patience_s);
  }
}

}  // namespace kvcap
