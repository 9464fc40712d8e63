// Passes of any unit: the row of a pass in a table, its call with options, and the registry that joins the
// tables of several folders. Tables are made from functions, whose signatures define the unit and the
// options:
//
//   bool NAME(Graph&, const OPTIONS&)       graph     runs on every graph of a module
//   bool NAME(Module&, const OPTIONS&)      module
//   Program NAME(const Module&, ...)        lowering  from a module to a program
//   bool NAME(Program&, const OPTIONS&)     program
//   bool NAME(Kernel&, const OPTIONS&)      kernel    runs on every kernel of a program without a template
//
// A pass returns whether it changed its unit. A pass that returns nothing counts as having changed it.
#pragma once

#include <functional>
#include <type_traits>
#include <variant>

#include "ir/graph/graph.h"
#include "ir/pass_options.h"
#include "ir/program/program.h"

namespace smelt {

using PassBody = std::variant<std::function<bool(Graph&)>, std::function<bool(Module&)>,
                              std::function<Program(const Module&)>, std::function<bool(Program&)>,
                              std::function<bool(Kernel&)>>;
/// Units in the order of PassBody.
enum class PassUnit : uint8_t { graph, module, lowering, program, kernel };
std::string_view name(PassUnit unit);
inline PassUnit unit_of(const PassBody& body) { return static_cast<PassUnit>(body.index()); }

/// Row of a table of passes.
struct Pass {
  std::string_view name, description;
  PassUnit unit;
  bool required;  // later passes need it: neither an option nor a bisect limit disables it
  PassBody (*bind)(std::string_view name, const PassArguments& arguments);  // throws Error
};

/// Pass with its options. `arguments` is the text of the options that `body` has.
struct PassCall {
  std::string name;
  PassArguments arguments;
  PassBody body;
  std::string str() const;  // "decompose{keep=softmax+gelu}"
};
/// "decompose{keep=softmax+gelu},simplify"
std::string str(llvm::ArrayRef<PassCall> calls);

// ---- passes from functions

struct NoOptions {};
template <typename Function>
struct PassTraits;
template <typename R, typename U>
struct PassTraits<R (*)(U&)> {
  using Result = R;
  using Unit = U;
  using Options = NoOptions;
};
template <typename R, typename U, typename O>
struct PassTraits<R (*)(U&, const O&)> {
  using Result = R;
  using Unit = U;
  using Options = O;
};
template <auto function>
using PassOptions = typename PassTraits<decltype(function)>::Options;

template <auto function>
PassBody body_of(PassOptions<function> options) {
  using Traits = PassTraits<decltype(function)>;
  using Unit = typename Traits::Unit;
  const auto run = [options = std::move(options)](Unit& unit) {
    if constexpr (std::is_same_v<PassOptions<function>, NoOptions>)
      return static_cast<void>(options), function(unit);
    else
      return function(unit, options);
  };
  if constexpr (std::is_same_v<typename Traits::Result, Program>)
    return std::function<Program(const Module&)>(run);
  else if constexpr (std::is_same_v<typename Traits::Result, bool>)
    return std::function<bool(std::remove_const_t<Unit>&)>(run);
  else
    return std::function<bool(std::remove_const_t<Unit>&)>(
        [run](Unit& unit) { return run(unit), !std::is_const_v<Unit>; });
}

template <typename Traits>
constexpr PassUnit unit_by_signature() {
  using Unit = std::remove_const_t<typename Traits::Unit>;
  if (std::is_same_v<typename Traits::Result, Program>) return PassUnit::lowering;
  if (std::is_same_v<Unit, Graph>) return PassUnit::graph;
  if (std::is_same_v<Unit, Module>) return PassUnit::module;
  return std::is_same_v<Unit, Program> ? PassUnit::program : PassUnit::kernel;
}

template <auto function>
constexpr Pass pass_of(std::string_view name, bool required, std::string_view description) {
  return {name, description, unit_by_signature<PassTraits<decltype(function)>>(), required,
          [](std::string_view pass, const PassArguments& arguments) {
            return body_of<function>(read_options<PassOptions<function>>(pass, arguments));
          }};
}

template <auto function>
PassCall call_of(std::string_view name, PassOptions<function> options) {
  return {std::string(name), written_options(options), body_of<function>(options)};
}

// ---- passes by name

class PassRegistry {
 public:
  PassRegistry(std::initializer_list<llvm::ArrayRef<Pass>> tables);

  llvm::ArrayRef<Pass> all() const { return passes_; }
  /// Finds a pass. Throws Error with the known passes, or with the present name of a renamed one.
  const Pass& find(std::string_view name) const;
  /// Parses calls: "decompose{keep=softmax+gelu},simplify"; throws Error with the position of a fault.
  std::vector<PassCall> parse(std::string_view pipeline) const;

 private:
  std::vector<Pass> passes_;
};

}  // namespace smelt
