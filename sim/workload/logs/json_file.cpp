#include "workload/logs/json_file.h"

#include <istream>

#include "base/input_error.h"
#include "base/text/json_document.h"
#include "base/text/python_numbers.h"
#include "workload/logs/gz_file.h"

namespace kvcap {

using Json = nlohmann::json;

void for_each_json_document(const std::string& path, const std::vector<std::string_view>& left_out,
                            const std::function<void(const Json&)>& take) {
  GzStreambuf buffer(path);
  PythonNumbers numbers(buffer);
  std::istream stream(&numbers);
  stream.exceptions(std::istream::badbit);  // what the buffer throws comes through
  while ((stream >> std::ws) && stream.peek() != std::istream::traits_type::eof()) {
    JsonDocument<Json> document(left_out);
    try {
      Json::sax_parse(stream, &document, Json::input_format_t::json, false);
    } catch (const JsonFault& fault) {
      const bool is_known = fault.byte == JsonFault::kHere;
      throw InputError(path + (is_known ? ":" + std::to_string(buffer.line_number()) : "") + ": " +
                       fault.reason);
    }
    take(document.take());
  }
}

std::vector<Json> read_json_documents(const std::string& path,
                                      const std::vector<std::string_view>& left_out) {
  std::vector<Json> documents;
  for_each_json_document(path, left_out, [&](const Json& document) { documents.push_back(document); });
  return documents;
}

BadRows for_each_entry(const std::string& file, const std::string& path, const Json& array, BadRow on_bad_row,
                       const std::function<bool(const Json&, int64_t)>& take) {
  BadRows bad;
  if (!array.is_array())
    throw InputError(file + ": " + path + ": found " + shown_in_row(array) + ", allowed: an array");
  for (std::size_t i = 0; i < array.size(); ++i) {
    const std::string place = file + ": " + path + "." + std::to_string(i);
    try {
      if (!array[i].is_object()) bad_value("the entry", array[i], "an object");
      if (!take(array[i], static_cast<int64_t>(i))) break;
    } catch (const BadRowError& error) {
      count_bad_row(place + ": " + error.reason, on_bad_row, bad);
    } catch (const Json::exception& error) {
      count_bad_row(place + ": " + json_reason(error.what()), on_bad_row, bad);
    }
  }
  return bad;
}

}  // namespace kvcap
