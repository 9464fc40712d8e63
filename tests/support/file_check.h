// Text of file tests (file_test.h): their parts and directives, and LLVM FileCheck for the output of a test.
#pragma once

#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>
#include <vector>

#include "llvm/ADT/SmallString.h"
#include "llvm/FileCheck/FileCheck.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/SourceMgr.h"
#include "llvm/Support/raw_ostream.h"

namespace smelt::testing {

inline std::string read_file(const std::filesystem::path& path) {
  std::ifstream file(path, std::ios::binary);
  std::ostringstream text;
  text << file.rdbuf();
  return text.str();
}

/// Returns the text after "// KEY:" in each line that begins with "// KEY:", where KEY is `key`.
inline std::vector<std::string> directives(const std::string& text, const std::string& key) {
  std::vector<std::string> found;
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) {
    const std::string prefix = "// " + key + ":";
    if (line.rfind(prefix, 0) != 0) continue;
    const llvm::StringRef rest = llvm::StringRef(line).drop_front(prefix.size()).trim();
    found.push_back(rest.str());
  }
  return found;
}

/// Splits a file at the lines "// -----".
inline std::vector<std::string> parts_of(const std::string& text) {
  std::vector<std::string> parts(1);
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) {
    if (line == "// -----")
      parts.emplace_back();
    else
      parts.back() += line + "\n";
  }
  return parts;
}

/// Returns all .ir files under a folder of tests/ that have the directive `key`, sorted.
inline std::vector<std::filesystem::path> files_with(const std::string& key, const std::string& folder = "") {
  std::vector<std::filesystem::path> files;
  const auto root = std::filesystem::path(SMELT_SOURCE_DIR) / "tests" / folder;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(root))
    if (entry.path().extension() == ".ir" && !directives(read_file(entry.path()), key).empty())
      files.push_back(entry.path());
  std::sort(files.begin(), files.end());
  return files;
}

/// Returns the name of the test for a file under tests/: its path, with underscores in place of all
/// characters except letters and digits.
inline std::string test_name(const std::filesystem::path& path) {
  std::string name =
      std::filesystem::relative(path, std::filesystem::path(SMELT_SOURCE_DIR) / "tests").string();
  for (char& c : name)
    if (!std::isalnum(static_cast<unsigned char>(c))) c = '_';
  return name;
}

/// Runs FileCheck with the directives in `checks`. Returns its error messages; "" if the output passes.
inline std::string check(const std::string& file_name, const std::string& checks, const std::string& output) {
  llvm::FileCheckRequest request;
  request.CheckPrefixes = {"CHECK"};
  request.CommentPrefixes = {"COM"};
  request.EnableVarScope = true;
  llvm::FileCheck file_check(request);
  if (!file_check.ValidateCheckPrefixes()) return "the prefix CHECK is not valid";
  std::string complaint;
  llvm::SourceMgr sources;
  sources.setDiagHandler(
      [](const llvm::SMDiagnostic& diagnostic, void* text) {
        llvm::raw_string_ostream stream(*static_cast<std::string*>(text));
        diagnostic.print("", stream, false);
      },
      &complaint);
  auto add = [&](const std::string& text, const std::string& name) {
    auto buffer = llvm::MemoryBuffer::getMemBufferCopy(text, name);
    llvm::SmallString<4096> storage;
    const std::string canonical = file_check.CanonicalizeFile(*buffer, storage).str();
    auto copy = llvm::MemoryBuffer::getMemBufferCopy(canonical, name);
    const llvm::StringRef reference = copy->getBuffer();
    sources.AddNewSourceBuffer(std::move(copy), llvm::SMLoc());
    return reference;
  };
  if (file_check.readCheckFile(sources, add(checks, file_name))) return complaint;
  if (file_check.checkInput(sources, add(output, "output"))) return "";
  return complaint.empty() ? "the output does not pass" : complaint;
}

/// Returns the text of a test whose CHECK lines are replaced by lines that match `output` exactly. They are
/// inserted after the line "// CHECKS: generated".
inline std::string blessed(const std::string& text, const std::string& output) {
  std::string result;
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) {
    if (line.rfind("// CHECK", 0) != 0 || line.rfind("// CHECKS:", 0) == 0) result += line + "\n";
    if (line.rfind("// CHECKS: generated", 0) != 0) continue;
    std::istringstream printed(output);
    const char* directive = "CHECK";
    for (std::string each; std::getline(printed, each);
         directive = each.empty() ? "CHECK-EMPTY" : "CHECK-NEXT")
      result += each.empty() ? "// CHECK-EMPTY:\n" : fmt::format("// {}{{LITERAL}}: {}\n", directive, each);
  }
  return result;
}

}  // namespace smelt::testing
