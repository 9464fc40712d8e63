// Passes of the compiler. A Pass is a row of a table of passes, a PassCall is a pass with its options, and
// the PassRegistry has all rows. A pass is a function. The unit of a pass is the object that one call of the
// function transforms. The signature of the function determines the unit and the type of the options. The
// second parameter is absent if a pass has no options:
//
//   bool NAME(Graph&, const OPTIONS&)       graph     runs on every graph of a module
//   bool NAME(Module&, const OPTIONS&)      module
//   Program NAME(const Module&, ...)        lowering  from a module to a program
//   bool NAME(Program&, const OPTIONS&)     program
//   bool NAME(Kernel&, const OPTIONS&)      kernel    runs on every kernel of a program, except those that
//                                                     are made from a template (Kernel::has_template)
//
// A pass returns whether it changed its unit. If its function returns void, it counts as having changed the
// unit, unless the unit is const.
#pragma once

#include <functional>
#include <type_traits>
#include <variant>

#include "ir/graph/graph.h"
#include "ir/pass_options.h"
#include "ir/program/program.h"

namespace smelt {

/// Function of a pass, bound to its options.
using PassBody = std::variant<std::function<bool(Graph&)>, std::function<bool(Module&)>,
                              std::function<Program(const Module&)>, std::function<bool(Program&)>,
                              std::function<bool(Kernel&)>>;
/// Units of passes, in the order of the alternatives of PassBody.
enum class PassUnit : uint8_t { graph, module, lowering, program, kernel };
std::string_view name(PassUnit unit);
inline PassUnit unit_of(const PassBody& body) { return static_cast<PassUnit>(body.index()); }

/// Row of a table of passes.
struct Pass {
  std::string_view name, description;
  PassUnit unit;
  bool required;  // later passes need it, so neither an option nor `smelt opt --bisect-limit` disables it
  /// Returns the function of the pass, bound to these options. Throws Error if an option or its value is not
  /// valid. `name`: the name of the pass, for the message.
  PassBody (*bind)(std::string_view name, const PassArguments& arguments);
};

/// Pass with its options. `body` is the pass's function with these options, and `arguments` is their text.
struct PassCall {
  std::string name;
  PassArguments arguments;
  PassBody body;
  std::string str() const;  // "decompose{keep=softmax+gelu}"
};
/// Returns the text that PassRegistry::parse reads: "decompose{keep=softmax+gelu},simplify".
std::string str(llvm::ArrayRef<PassCall> calls);

// ---- passes from functions

struct NoOptions {};
/// Types in the signature of a pass's function: its result, its unit and its options.
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

/// Binds a pass's function to its options.
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

/// Returns the row of a pass.
template <auto function>
constexpr Pass pass_of(std::string_view name, bool required, std::string_view description) {
  return {name, description, unit_by_signature<PassTraits<decltype(function)>>(), required,
          [](std::string_view pass, const PassArguments& arguments) {
            return body_of<function>(read_options<PassOptions<function>>(pass, arguments));
          }};
}

/// Returns a pass with its options.
template <auto function>
PassCall call_of(std::string_view name, PassOptions<function> options) {
  return {std::string(name), written_options(options), body_of<function>(options)};
}

// ---- passes by name

/// All passes of several tables, such as one table per folder of passes.
class PassRegistry {
 public:
  PassRegistry(std::initializer_list<llvm::ArrayRef<Pass>> tables);

  llvm::ArrayRef<Pass> all() const { return passes_; }
  /// Returns the pass of this name. Throws Error with all names if there is none, or with the new name if the
  /// pass was renamed.
  const Pass& find(std::string_view name) const;
  /// Parses passes with options: "decompose{keep=softmax+gelu},simplify". Throws Error: with the position if
  /// the syntax is wrong, and with the name if there is no such pass or option.
  std::vector<PassCall> parse(std::string_view pipeline) const;

 private:
  std::vector<Pass> passes_;
};

}  // namespace smelt
