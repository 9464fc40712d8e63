#include "passes/graph/precision/pack_weights.h"

#include <map>
#include <set>

#include "ir/graph/builder.h"
#include "llvm/ADT/STLExtras.h"
#include "passes/analysis.h"
#include "passes/expressions.h"
#include "passes/graph/precision/flat_weights.h"
#include "passes/graph/training/flatten_parameters.h"
#include "passes/parameter_patterns.h"
#include "runtime/base/error.h"
#include "runtime/base/packed_format.h"

namespace smelt {
namespace {

using Options = PackWeightsOptions;

const PackedFormat& format_of(const Options& options) {
  const PackedFormat* found = find_packed_format(options.format);
  if (!found) fail("pack_weights: '{}' is no format of packed numbers", options.format);
  return *found;
}

/// Returns the names of the weights that are packed.
std::set<std::string> packed_names(const Module& module, const Options& options) {
  const std::vector<bool> kept = parameters_that_fit(module, options.keep);
  std::set<std::string> left_out;
  for (auto [i, parameter] : llvm::enumerate(module.parameters))
    if (kept[i]) left_out.insert(parameter.name);
  return multiplied_weights(module, state_of_weights(module), {.any_matmuls = options.frozen},
                            std::move(left_out));
}

/// Throws Error if the weights change, or ranks share them.
void check_source(Module& module, const Options& options) {
  flat_parameters(module);
  const State* source = module.find_state(state_of_weights(module));
  if (options.frozen && source->name == kParameters)
    fail(
        "weights in the format {}: the plan trains all parameters, and updates would not change codes; "
        "freeze "
        "them (--lora or --train-only, and --adapter to evaluate), give --mode=infer, or --weight-type=float",
        options.format);
  if (!options.frozen && parameter_copy(module))
    fail("pack_weights: parameters have f32 masters, which training updates");
  if (source->shape.size() != 1)
    fail("weights in the format {}: ranks share the frozen weights; give --zero=0 or --weight-type=float",
         options.format);
}

/// Returns the number of groups of a row.
int64_t groups_of(const Segment& weight, const Options& options) {
  const int64_t columns = weight.shape.back(), group = options.group > 0 ? options.group : columns;
  const int per_word = format_of(options).codes_per_word();
  if (!weight.cut.empty())
    fail(
        "weights in the format {}: ranks have parts of '{}'; use --weight-type={}, or a mesh without an axis "
        "'model'",
        options.format, weight.name, options.frozen ? "float" : "int8 or float");
  if (columns % group != 0 || group % per_word != 0)
    fail(
        "weights in the format {}: '{}' has rows of {} elements, which groups of {} do not divide; choose "
        "--weight-group (a multiple of {}), or leave it in floats (--keep-floats={})",
        options.format, weight.name, columns, group, per_word, weight.name);
  return columns / group;
}

Segment codes_segment(const Segment& weight, const Options& options) {
  Segment codes = weight;
  codes.per_byte = 8 / format_of(options).bits;
  codes.shape.back() /= codes.per_byte;
  return codes;
}

/// Returns the segment of the numbers of each group of the weight.
Segment groups_segment(const Segment& weight, const Options& options) {
  Segment groups;
  groups.name = weight.name, groups.shape = weight.shape, groups.decay = false, groups.frozen = true;
  groups.shape.back() = groups_of(weight, options);
  return groups;
}

void move_segments(Module& module, const std::set<std::string>& names, const Options& options) {
  State& flat = *module.find_state(state_of_weights(module));
  FlatState floats(flat.name, flat.dtype), codes(std::string(kPackedParameters), DType::u8),
      scales(std::string(kPackedScales), options.storage), zeros(std::string(kPackedZeros), DType::i8);
  const Segment* before = nullptr;
  for (const Segment& segment : flat.segments) {
    const bool taken = names.contains(segment.name);
    const bool follows = before && before->offset + before->elements() == segment.offset &&
                         taken == names.contains(before->name);
    if (taken) {
      codes.append(codes_segment(segment, options), follows);
      scales.append(groups_segment(segment, options), follows);
      zeros.append(groups_segment(segment, options), follows);
    } else {
      floats.append(segment, follows);
    }
    before = &segment;
  }
  const bool from_model = flat.from_model;
  flat = floats.finished();
  State packed = codes.finished(), of_scales = scales.finished(), of_zeros = zeros.finished();
  packed.format = options.format, of_scales.scales_of = of_zeros.zeros_of = kPackedParameters;
  flat.from_model = packed.from_model = of_scales.from_model = of_zeros.from_model = from_model;
  module.states.push_back(std::move(packed));
  module.states.push_back(std::move(of_scales));
  if (options.zeros) module.states.push_back(std::move(of_zeros));
}

/// Replaces the weights that matmuls of a graph read by numbers made of their codes.
class WeightPacker {
 public:
  WeightPacker(Graph& graph, const std::set<std::string>& names, const Options& options)
      : graph_(graph), names_(names), options_(options) {}

  void run() {
    for (Node* matmul : nodes_of(graph_, Op::matmul))
      for (unsigned side : {0u, 1u})
        if (is_packed(*matmul->operand(side)))
          matmul->set_operand(side, numbers(*matmul->operand(side), *matmul));
    graph_.prune();
  }

 private:
  bool is_packed(const Value& weight) const {
    const Node& node = *weight.node();
    if (!node.is(Op::parameter) && !(node.is(Op::concat) && stacks(node, options_.frozen))) return false;
    return names_.contains(parts_of(weight).front()->get(attr::name));
  }

  /// Returns the weight's numbers for readers of this phase; each phase makes its own.
  Value* numbers(Value& weight, Node& reader) {
    Value*& made = made_[{&weight, reader.phase}];
    if (!made) made = unpacked(weight, reader);
    return made;
  }

  Value* unpacked(Value& weight, Node& reader) {
    Node& node = *weight.node();
    const bool again = reader.phase != Phase::forward;
    GraphBuilder b(graph_, again ? &reader : graph_.next(&node));
    b.set_source(node.source);
    Value* zeros = options_.zeros ? rows_of(b, weight, kPackedZeros) : nullptr;
    Value* numbers = b.dequantize(rows_of(b, weight, kPackedParameters), rows_of(b, weight, kPackedScales),
                                  zeros, options_.format);
    if (again) numbers->node()->anchored = true, numbers->node()->phase = reader.phase;
    return b.convert(numbers, weight.dtype());
  }

  /// Returns the rows of the weight in a flat state.
  static Value* rows_of(GraphBuilder& b, const Value& weight, std::string_view name) {
    const State& state = *b.module().find_state(name);
    Value* all = b.state(std::string(name));
    llvm::SmallVector<Value*, 4> values;
    for (const Node* part : parts_of(weight)) {
      const Segment& segment = *find_segment(state, part->get(attr::name));
      Value* elements = b.slice(all, 0, segment.offset, segment.elements());
      values.push_back(b.reshape(elements, Shape(segment.shape.begin(), segment.shape.end())));
    }
    return stacked(b, values);
  }

  Graph& graph_;
  const std::set<std::string>& names_;
  const Options& options_;
  std::map<std::pair<const Value*, Phase>, Value*> made_;
};

}  // namespace

bool pack_weights(Module& module, const Options& options) {
  if (module.parameters.empty() || module.find_state(kPackedParameters)) return false;
  check_source(module, options);
  const std::set<std::string> names = packed_names(module, options);
  if (names.empty())
    fail(
        "weights in the format {}: there is none that only matmuls read and that is not to stay in floats; "
        "leave --weight-type out",
        options.format);
  move_segments(module, names, options);
  for (const auto& graph : module.graphs) WeightPacker(*graph, names, options).run();
  return true;
}

}  // namespace smelt
