#include "scenario/data_files.h"

#include <cstdlib>

namespace kvcap {
namespace {

namespace fs = std::filesystem;

// Public data that the shipped scenarios use: file, source, and how to make the file from the source.
struct PublicData {
  std::string_view path;
  std::string_view source;
  std::string_view made_by;
};
constexpr PublicData kPublicData[] = {
    {"traces/sharegpt_turns_repaired.jsonl", "https://github.com/microsoft/sarathi-serve",
     "as scenarios/data.md describes, or from ShareGPT's raw JSON with: kvcap trace convert sharegpt.json "
     "FILE "
     "--format sharegpt"},
    {"traces/leval.jsonl", "https://github.com/OpenLMLab/LEval",
     "from the files of LEval-data with: kvcap trace convert TASK.jsonl FILE --format leval"},
    {"traces/mooncake_conversation_trace.jsonl.gz",
     "https://github.com/kvcache-ai/Mooncake (FAST25-release/traces/conversation_trace.jsonl)",
     "by compressing it with gzip"},
    {"vllm-real/rtx4090-llama3.1-8b-tp1.csv", "https://github.com/casys-kaist/LLMServingSim (bench/examples)",
     "as scenarios/data.md describes"},
    {"vllm-real/workload-sharegpt-llama3.1-8b.jsonl.gz",
     "https://github.com/casys-kaist/LLMServingSim (the workload of the run)",
     "as scenarios/data.md describes"}};

const char* data_variable() {
  const char* folder = std::getenv("KVCAP_DATA");
  return folder && *folder != '\0' ? folder : nullptr;
}

}  // namespace

std::optional<std::string> find_data(const std::string& written, const fs::path& folder) {
  if (!written.starts_with(kDataPrefix)) return (folder / written).lexically_normal().string();
  const std::string rest = written.substr(kDataPrefix.size());
  std::error_code error;
  if (const char* data = data_variable()) {
    const fs::path file = fs::path(data) / rest;
    if (!fs::exists(file, error)) return std::nullopt;
    return file.lexically_normal().string();
  }
  for (fs::path above = fs::absolute(folder.empty() ? "." : folder, error).lexically_normal();;
       above = above.parent_path()) {
    for (const char* data : {"data", "shared/data"}) {
      const fs::path file = above / data / rest;
      if (fs::exists(file, error)) return file.string();
    }
    if (!above.has_relative_path()) return std::nullopt;
  }
}

std::string missing_data(const std::string& written) {
  const char* data = data_variable();
  std::string text =
      data ? "no such file; KVCAP_DATA is \"" + std::string(data) + "\""
           : "no such file; KVCAP_DATA, the folder of data that are not part of kvcap, is not set "
             "and no data folder in the scenario's folder or above it contains the file";
  for (const PublicData& one : kPublicData) {
    if (written != std::string(kDataPrefix) + std::string(one.path)) continue;
    text += "; its source is " + std::string(one.source) + ", made " + std::string(one.made_by);
  }
  return text + " (scenarios/data.md)";
}

}  // namespace kvcap
