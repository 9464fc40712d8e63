#include "compiler/python/bindings.h"

#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <exception>
#include <limits>

#include "compiler/python/arrays.h"
#include "runtime/engine/generation/generator.h"

namespace smelt::python {
namespace {

using Tokens = Generator::Tokens;

int32_t token_of(int64_t id, const std::string& what) {
  if (id < 0 || id > std::numeric_limits<int32_t>::max()) fail("{}: {} is no token id", what, id);
  return static_cast<int32_t>(id);
}

template <typename Id>
std::vector<Tokens> rows_of(const InputTensor& array, const std::string& what) {
  const auto* ids = static_cast<const Id*>(array.data);
  const int64_t columns = array.shape.back(), rows = array.shape.size() == 2 ? array.shape[0] : 1;
  std::vector<Tokens> tokens(static_cast<size_t>(rows));
  for (int64_t i = 0; i < rows * columns; ++i)
    tokens[static_cast<size_t>(i / columns)].push_back(token_of(int64_t{ids[i]}, what));
  return tokens;
}

std::vector<Tokens> tokens_of_array(const InputTensor& array, const std::string& what) {
  const bool is_table = array.shape.size() == 1 || array.shape.size() == 2;
  if (is_table && array.dtype == DType::i32) return rows_of<int32_t>(array, what);
  if (is_table && array.dtype == DType::i64) return rows_of<int64_t>(array, what);
  fail("{}: {}, expected a row or rows of i32 or i64", what, describe(array.dtype, array.shape));
}

/// Rows of an array, a list of lists of numbers, or one such list or row.
std::vector<Tokens> tokens_of(nb::handle given, const std::string& what) {
  std::vector<std::vector<int64_t>> lists;
  std::vector<int64_t> list;
  if (nb::isinstance<nb::list>(given) || nb::isinstance<nb::tuple>(given)) {
    if (nb::len(given) > 0 && nb::try_cast(given, list))
      lists.push_back(list);
    else if (!nb::try_cast(given, lists))
      fail("{}: expected lists of token ids", what);
    std::vector<Tokens> tokens(lists.size());
    for (size_t i = 0; i < lists.size(); ++i)
      for (const int64_t id : lists[i]) tokens[i].push_back(token_of(id, what));
    return tokens;
  }
  nb::dict arrays;
  arrays[what.c_str()] = given;
  return tokens_of_array(input_arrays(arrays).tensors[0], what);
}

/// Calls a Python function from code that runs without the GIL. An exception ends the generation, and
/// rethrow() raises it again.
class TokenCallback {
 public:
  explicit TokenCallback(nb::object function) : function_(std::move(function)) {}

  bool operator()(size_t index, int32_t token) {
    const nb::gil_scoped_acquire hold;
    try {
      return !function_(index, token).is(Py_False);
    } catch (...) {
      problem_ = std::current_exception();
      return false;
    }
  }
  void rethrow() const {
    if (problem_) std::rethrow_exception(problem_);
  }

 private:
  nb::object function_;
  std::exception_ptr problem_;
};

/// `options`: JSON, as in generation_config.json.
std::vector<Tokens> generate(BoundSession& bound, nb::handle ids, nb::handle mask, const std::string& options,
                             nb::object on_token) {
  const std::vector<Tokens> prompts = tokens_of(ids, "ids");
  const std::vector<Tokens> masks =
      mask.is_none() ? std::vector<Tokens>() : tokens_of(mask, "attention_mask");
  const bool calls = !on_token.is_none();
  TokenCallback callback(std::move(on_token));
  auto results = alone(bound, [&](Session& session) {
    GenerationOptions chosen = model_generation_options(session.plan().model);
    chosen.seed = bound.seed;
    read_generation_options(options, chosen);
    if (!bound.generator) bound.generator = std::make_unique<Generator>(session);
    const auto listen = [&](size_t index, int32_t token) { return callback(index, token); };
    return bound.generator->generate(prompts, chosen, calls ? Generator::OnToken(listen) : nullptr, masks);
  });
  callback.rethrow();
  return results;
}

}  // namespace

void bind_generate(nb::class_<BoundSession>& session) {
  session.def("generate", generate, nb::arg("ids"), nb::arg("mask").none(), nb::arg("options"),
              nb::arg("on_token").none());
}

}  // namespace smelt::python
