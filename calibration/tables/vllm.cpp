#include <algorithm>
#include <cstdlib>
#include <map>
#include <sstream>

#include "base/input_error.h"
#include "calibration/tables/tables.h"

namespace kvcap::calibration {
namespace {

std::vector<std::string> words_of(const std::string& line) {
  std::vector<std::string> words;
  std::istringstream text(line);
  for (std::string word; std::getline(text, word, ',');) words.push_back(word);
  return words;
}

// Columns of GEMMs alone, and their formats. Others include the quantisation of activations, or have scales
// of their own for rows, which no profile distinguishes.
const std::map<std::string, std::string> kFormats = {{"torch-bf16", "bfloat16"},
                                                     {"fp8-tensor-w-tensor-a-noquant", "fp8"}};

// Returns the number after `sign` in the name of the file's folder, "bench_fp8_res_n4096_k14336".
std::string number_after(const std::string& sign, const std::string& path) {
  const std::size_t slash = path.rfind('/');
  const std::string folder = slash == std::string::npos ? "" : path.substr(0, slash);
  const std::size_t name = folder.rfind('/') == std::string::npos ? 0 : folder.rfind('/') + 1;
  const std::size_t at = folder.find(sign, name);
  const std::size_t begin = at == std::string::npos ? folder.size() : at + sign.size();
  const std::size_t end = folder.find_first_not_of("0123456789", begin);
  const std::string number = folder.substr(begin, end == std::string::npos ? end : end - begin);
  if (number.empty()) {
    throw InputError(path +
                     ": a table of vLLM's GEMMs outside of its folder, whose name gives N and K, allowed: "
                     "bench_fp8_res_nN_kK/");
  }
  return number;
}

}  // namespace

bool is_vllm_gemms(const std::string& text) {
  const std::string first = text.substr(0, text.find('\n'));
  return first.starts_with("batch_size,torch-bf16") && first.find("fp8-") != std::string::npos;
}

std::string csv_of_vllm_gemms(const std::string& path, const std::string& text) {
  const std::string n = number_after("_n", path);
  const std::string k = number_after("_k", path);
  std::istringstream lines(text);
  std::string line;
  std::getline(lines, line);
  const std::vector<std::string> columns = words_of(line);
  std::string rows = "m,n,k,dtype,t_us\n";
  while (std::getline(lines, line)) {
    const std::vector<std::string> words = words_of(line);
    for (std::size_t i = 1; i < std::min(words.size(), columns.size()); ++i) {
      // Newer versions of Triton add the unit: "torch-bf16 (TFLOP/s (larger is better))".
      const auto format = kFormats.find(columns[i].substr(0, columns[i].find_first_of(" \r")));
      if (format == kFormats.end()) continue;
      const double tflops = std::atof(words[i].c_str());
      if (!(tflops > 0))
        throw InputError(path + ": " + columns[i] + ": found \"" + words[i] + "\", allowed: a rate above 0");
      const double t_us =
          2 * std::atof(words[0].c_str()) * std::atof(n.c_str()) * std::atof(k.c_str()) / tflops / 1e6;
      rows += words[0] + "," + n + "," + k + "," + format->second + "," + std::to_string(t_us) + "\n";
    }
  }
  return rows;
}

}  // namespace kvcap::calibration
