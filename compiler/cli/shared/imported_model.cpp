#include "compiler/cli/shared/imported_model.h"

#include "compiler/cli/shared/subprocess.h"
#include "runtime/base/error.h"
#include "runtime/system/environment.h"

namespace smelt::cli {
namespace {

std::string python_program() {
  if (auto named = read_text(EnvironmentVariable::SMELT_PYTHON)) {
    const std::string found = named->find('/') == named->npos ? find_program(*named) : *named;
    if (found.empty()) fail("--import: SMELT_PYTHON is {}, which is not in PATH", *named);
    return found;
  }
  std::string found = find_program("python3");
  if (found.empty())
    fail(
        "--import: there is no python3 in PATH; expected a Python with the packages smelt, torch and "
        "transformers, which SMELT_PYTHON may name");
  return found;
}

}  // namespace

std::filesystem::path imported_model(const std::filesystem::path& model,
                                     const std::filesystem::path& directory, ImportedGraph graph) {
  if (std::filesystem::exists(directory / "model.ir")) return directory;
  const std::string python = python_program();
  std::vector<std::string> words = {python, "-m", "smelt.transformers.convert", model.string(),
                                    directory.string()};
  if (graph == ImportedGraph::loss) words.emplace_back("--loss");
  const int status = run_visibly(words);
  if (status < 0)
    fail("--import: {} cannot be started; expected a Python, which SMELT_PYTHON may name", python);
  if (status > 0)
    fail(
        "--import: {} ended with status {}, for the reason above; the packages that it needs are smelt (pip "
        "install ./compiler/python), torch and transformers; SMELT_PYTHON names another Python",
        python, status);
  return directory;
}

}  // namespace smelt::cli
