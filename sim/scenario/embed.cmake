# Writes OUT, a C++ file with the contents of FILES (paths under ROOT) as character arrays. They are arrays
# because ISO C++ limits the length of string literals, but not of arrays.
list(SORT FILES)

set(arrays "")
set(rows "")
set(number 0)
foreach(path IN LISTS FILES)
  file(READ ${ROOT}/${path} bytes HEX)
  string(REGEX REPLACE "(................................)" "\\1\n" bytes "${bytes}")
  string(REGEX REPLACE "([0-9a-f][0-9a-f])" "'\\\\x\\1'," bytes "${bytes}")
  string(APPEND arrays "const char file_${number}[] = {\n${bytes}'\\0'};\n")
  string(APPEND rows "      {\"${path}\", {file_${number}, sizeof file_${number} - 1}},\n")
  math(EXPR number "${number} + 1")
endforeach()

file(WRITE ${OUT} "#include \"base/embedded.h\"

namespace kvcap {
namespace {
${arrays}
}  // namespace

const std::vector<EmbeddedFile>& embedded_files() {
  static const std::vector<EmbeddedFile> files = {
${rows}  };
  return files;
}

}  // namespace kvcap
")
