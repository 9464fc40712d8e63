// The table of dims against the evaluator: every operation by itself, one element of an operand changed at a
// time.
#include "ir/analysis/op_dims.h"

#include <gtest/gtest.h>

#include <set>

#include "ir/graph/verifier.h"
#include "ir/text/text.h"
#include "passes/graph/simplify/decompose.h"
#include "tests/ir/text/every_operation.h"
#include "tests/support/random_graph.h"
#include "tests/support/random_tensors.h"

namespace smelt::testing {
namespace {

using Index = std::vector<int64_t>;

/// The least extent of a dim that an insert's index names.
constexpr int64_t kLeastIndices = 2;

/// Forms of operations that the module with every operation does not have.
constexpr std::string_view kMoreForms = R"(
mesh {data = 1}
symbols B <= 4, T <= 16
state "flat" : f32[40] { segment "a" : [3,8] at 0 segment "b" : [12] at 24 }
graph @more(%x: f32[B,T,8], %c: f32[B,6,8], %y: f32[3,4], %ids: i32[B,T], %q: f32[B,3,4,2], %k: f32[B,4,2,2], %v: f32[B,4,2,3], %m: f32[B,3,4,3]) {
  %whole = reduce add %x {axes = [0, 1, 2]}
  %least = reduce min %x {axes = [0, 2]}
  %merged = reshape %x : f32[B*T,2,4]
  %split = reshape %x : f32[B,T*4,2]
  %remade = reshape %y : f32[6,2]
  %unlike = reshape %y : f32[2,6]
  %crossed = reshape %y : f32[4,3]
  %turned = transpose %x {permutation = [2, 0, 1]}
  %spread = broadcast %y {axes = [0, 2]} : f32[3,5,4]
  %part = slice %x {axis = 2, begin = 3} : f32[B,T,4]
  %long = concat %y, %y, %y {axis = 0}
  %slid = windows %y {axis = 1, size = 2} : f32[3,3,2]
  %most = scan %x {axis = 2, kind = "max"}
  %columns = gather %y, %ids {axis = 1}
  %added = scatter_add %y, %ids, %columns {axis = 1}
  %put = scatter %y, %ids, %columns {axis = 1}
  %product = matmul %x, %x {spec = "btc,btd->bdc"}
  %outer = einsum %y, %y {spec = "ac,bc->ba"}
  %square = constant {value = 2} : f32[4,4,3]
  %diagonal = einsum %square {spec = "iij->ij"}
  %trace = einsum %square {spec = "iij->j"}
  %w = constant {value = 0.5} : f32[6,4,2]
  %image = constant {value = 0.5} : f32[B,8,5]
  %bias = constant {value = 0.5} : f32[6]
  %biased = conv %image, %w, %bias {groups = 2}
  %kernel = constant {value = 0.5} : f32[4,3,2,2]
  %planes = constant {value = 0.5} : f32[B,3,4,3]
  %plane = conv %planes, %kernel
  %weight = constant {value = 0.5} : f32[5,8]
  %lin = linear %x, %weight
  %rows = constant {value = 0.5} : f32[B,1,8]
  %zero = constant {value = 0} : i32[]
  %block = insert %c, %rows, %zero {axis = 1}
  %each = constant {value = 0} : i32[B]
  %blocks = insert %c, %rows, %each {axis = 1}
  %place = constant {value = 0} : i32[B,1]
  %placed = insert %c, %rows, %place {axis = 1}
  %row = constant {value = 0.5} : f32[B,1,4]
  %two = insert %c, %row, %zero, %zero {axes = [1, 2]}
  %a = constant {value = 1} : f32[3,8]
  %b = constant {value = 1} : f32[12]
  %packed = pack %a, %b {state = "flat"} : f32[40]
  %all = collective %x {kind = "all_reduce", axis = "data"}
  %scattered = collective %x {kind = "reduce_scatter", axis = "data", dim = 2}
  %gathered = collective %x {kind = "all_gather", axis = "data", dim = 0}
  %exchanged = collective %x {kind = "all_to_all", axis = "data", dim = 1, to = 0}
  %means, %sums, %rest = attention %q, %k, %v {scale = 0.5, rest = true}
  %spread2 = constant {value = 0.5} : f32[B,4,3,4]
  %means2, %sums2 = attention %q, %k, %v (%score, %1 = %spread2) {scale = 0.5} {
    %s2 = add %score, %1
    return %s2
  }
  %dq, %dk, %dv = attention_grad %q, %k, %v, %m (%score, %product, %lse = %sums) {scale = 0.5} {
    %l2 = broadcast %lse {axes = [0, 1, 2]} : f32[B,4,3,4]
    %w2 = sub %score, %l2
    %w3 = exp %w2
    %w4 = mul %w3, %product
    return %w3, %w4
  }
  return x = %x
}
)";

/// A graph with one operation, whose operands are its inputs.
class OneOperation {
 public:
  OneOperation(const Node& original, uint64_t seed)
      : module_(original.graph().module().clone()), random_(seed) {
    Graph& graph = module_->add_graph("one operation");
    std::vector<Value*> operands;
    for (const Value* operand : original.operands()) {
      Node* input = graph.create(Op::input, {}, Type(operand->type));
      input->set(attr::name, name_of(operands.size()));
      operands.push_back(input->result());
    }
    node_ = graph.clone(original, operands);
    for (unsigned i = 0; i < node_->result_count(); ++i)
      graph.outputs.push_back({"r" + std::to_string(i), node_->result(i)});
    dims_ = op_dims(*node_);
    primitive_ = module_->clone();
    decompose(*primitive_->find_graph(graph.name), {});
    options_.symbols = {{"B", 2}, {"T", 3}};
    for (const char* rank : {"data.rank", "model.rank", "pipe.rank"}) options_.symbols[rank] = 0;
    inputs_ = random_inputs(graph, seed, options_.symbols, kLeastIndices);
    states_ = random_states(graph, seed, options_.symbols);
    if (node_->is(Op::input))
      inputs_[node_->get(attr::name)] = random_tensor(node_->result()->type, options_.symbols, random_);
  }

  void check() {
    SCOPED_TRACE(print(node_->graph()));
    base_ = evaluate(inputs_);
    check_repeats();
    for (unsigned i = 0; i < node_->operands().size(); ++i) change_each(i);
    check_influence();
    check_sums();
  }

 private:
  static std::string name_of(size_t operand) { return "x" + std::to_string(operand); }
  Evaluation evaluate(const Tensors& inputs) const {
    return smelt::evaluate(*primitive_->find_graph("one operation"), inputs, states_, options_);
  }
  int64_t size(const Dim& dim) const { return dim.evaluate(options_.symbols); }
  static const Tensor& result(const Evaluation& evaluation, unsigned i) {
    return evaluation.outputs.at("r" + std::to_string(i));
  }

  static Index index_of(const Tensor& tensor, size_t element) {
    Index index(tensor.shape.size());
    for (size_t i = index.size(); i-- > 0;) {
      index[i] = static_cast<int64_t>(element) % tensor.shape[i];
      element /= static_cast<size_t>(tensor.shape[i]);
    }
    return index;
  }

  /// The indices along a factor that an element of a value has: one per dim with the factor.
  Index along(int factor, const DimFactors& dims, const Index& index) const {
    Index found;
    for (size_t d = 0; d < dims.size(); ++d) {
      int64_t left = index[d];
      for (const int inner : llvm::reverse(dims[d])) {
        const int64_t extent = dims[d].size() == 1 ? left + 1 : size(dims_[inner].size);
        if (inner == factor) found.push_back(left % extent);
        left /= extent;
      }
    }
    return found;
  }

  /// Only the nodes of a body relate the results that it returns.
  bool has_free_results() const { return node_->body && returns_its_body(node_->op()); }
  static bool same(double a, double b) { return a == b || (std::isnan(a) && std::isnan(b)); }
  bool has_factor(const DimFactors& dims, int factor) const {
    return llvm::any_of(dims, [&](const auto& dim) { return llvm::is_contained(dim, factor); });
  }
  bool is_positional(int factor) const { return dims_[factor].relation <= DimRelation::reduced; }

  /// A result repeats along a carried factor that no operand has.
  void check_repeats() const {
    for (unsigned r = 0; r < dims_.results.size(); ++r)
      for (size_t d = 0; d < dims_.results[r].size(); ++d) {
        const auto& dim = dims_.results[r][d];
        const auto has = [&](const DimFactors& dims) { return has_factor(dims, dim.front()); };
        if (dim.size() > 1 || dims_[dim.front()].relation != DimRelation::carried) continue;
        if (llvm::none_of(dims_.operands, has)) expect_repeats(result(base_, r), d);
      }
  }
  static void expect_repeats(const Tensor& tensor, size_t dim) {
    size_t step = 1;
    for (size_t d = dim + 1; d < tensor.shape.size(); ++d) step *= static_cast<size_t>(tensor.shape[d]);
    for (size_t i = 0; i < tensor.data.size(); ++i)
      EXPECT_EQ(tensor.data[i], tensor.data[index_of(tensor, i)[dim] > 0 ? i - step : i]) << "dim " << dim;
  }

  // ---- one element at a time

  struct Change {
    unsigned operand;
    size_t element;
    double value;
  };

  Evaluation with(llvm::ArrayRef<Change> changes) const {
    Tensors inputs = inputs_;
    for (const Change& change : changes)
      inputs.at(name_of(change.operand)).data[change.element] = change.value;
    return evaluate(inputs);
  }

  /// Other values for an element that are as valid.
  std::vector<double> others(unsigned operand, double value) const {
    const Value& input = *node_->operand(operand);
    if (is_float(input.dtype())) return {value + 3, value - 3};
    const int64_t limit = input.dtype() == DType::boolean ? 2 : index_limit(input, options_.symbols);
    return {std::fmod(value + 1, static_cast<double>(limit > 0 ? limit : kLeastIndices))};
  }

  void change_each(unsigned operand) {
    const Tensor& tensor = inputs_.at(name_of(operand));
    constexpr size_t kMost = 96;
    for (size_t element = 0; element < tensor.data.size(); ++element) {
      if (tensor.data.size() > kMost && random_() % tensor.data.size() >= kMost) continue;
      for (const double value : others(operand, tensor.data[element])) {
        const Index index = index_of(tensor, element);
        const Evaluation changed = with(Change{operand, element, value});
        for (unsigned r = 0; r < node_->result_count(); ++r) compare(operand, index, r, result(changed, r));
      }
    }
  }

  void compare(unsigned operand, const Index& from, unsigned r, const Tensor& changed) {
    const Tensor& base = result(base_, r);
    for (size_t i = 0; i < base.data.size(); ++i)
      if (!same(base.data[i], changed.data[i])) see(operand, from, r, index_of(base, i));
  }

  void see(unsigned operand, const Index& from, unsigned r, const Index& to) {
    for (int f = 0; f < static_cast<int>(dims_.factors.size()); ++f) {
      const Index read = along(f, dims_.operands[operand], from), written = along(f, dims_.results[r], to);
      seen_[f].insert(read.begin(), read.end());
      const bool is_everywhere = dims_[f].relation <= DimRelation::counted && !has_free_results();
      EXPECT_FALSE(is_everywhere && !read.empty() && written.empty())
          << "result " << r << " does not have factor " << f;
      if (read.empty() || written.empty()) continue;
      bool same = true;
      for (const int64_t i : read)
        for (const int64_t j : written) same &= i == j;
      if (!same) mixed_.insert(f);
      EXPECT_TRUE(same || !is_positional(f))
          << "operand " << operand << " at " << ::testing::PrintToString(from) << " changes result " << r
          << " at " << ::testing::PrintToString(to) << ", factor " << f;
    }
  }

  // ---- all changes together

  bool is_shared(int factor) const {
    const auto has = [&](const DimFactors& dims) { return has_factor(dims, factor); };
    return llvm::any_of(dims_.operands, has) && llvm::any_of(dims_.results, has);
  }

  /// Reductions that sample rows read one element of them, if no more; few columns decide what is drawn.
  size_t least_read() const {
    const bool samples = node_->is(Op::reduce) && info(node_->reduce_op).samples;
    return samples || node_->is(Op::sample) ? 1 : 2;
  }

  bool is_in_all_results(int factor) const {
    return llvm::all_of(dims_.results, [&](const DimFactors& dims) { return has_factor(dims, factor); });
  }

  /// A whole factor mixes, unless it is in the hands of a body, and a reduced one is read at more than one
  /// index.
  void check_influence() {
    for (int f = 0; f < static_cast<int>(dims_.factors.size()); ++f) {
      if (size(dims_[f].size) < 2) continue;
      const DimRelation relation = dims_[f].relation;
      const bool mixes =
          relation == DimRelation::whole && is_shared(f) && !node_->is(Op::reshape) && !node_->body;
      EXPECT_TRUE(!mixes || mixed_.contains(f)) << "factor " << f << " is not whole";
      const bool folds = relation == DimRelation::summed || relation == DimRelation::reduced;
      EXPECT_TRUE(!folds || !is_in_all_results(f)) << "factor " << f << " is not summed";
      EXPECT_GE(seen_[f].size(), folds ? least_read() : 0) << "factor " << f << " is not read";
    }
  }

  /// Changes at two indices of a summed factor add up in results that do not have it.
  void check_sums() {
    for (int f = 0; f < static_cast<int>(dims_.factors.size()); ++f)
      if (dims_[f].relation == DimRelation::summed)
        for (int i = 0; i < 20; ++i) add_up(f, any_change(f), any_change(f));
  }

  Change any_change(int factor) {
    std::vector<unsigned> fitting;
    for (unsigned i = 0; i < dims_.operands.size(); ++i)
      if (has_factor(dims_.operands[i], factor) && !inputs_.at(name_of(i)).data.empty()) fitting.push_back(i);
    const unsigned operand = fitting.at(random_() % fitting.size());
    const Tensor& tensor = inputs_.at(name_of(operand));
    const size_t element = random_() % tensor.data.size();
    return {operand, element, others(operand, tensor.data[element]).front()};
  }

  void add_up(int factor, const Change& one, const Change& other) {
    const auto place = [&](const Change& change) {
      const Tensor& tensor = inputs_.at(name_of(change.operand));
      return along(factor, dims_.operands[change.operand], index_of(tensor, change.element));
    };
    if (place(one) == place(other)) return;
    const Evaluation first = with(one), second = with(other), both = with({one, other});
    for (unsigned r = 0; r < node_->result_count(); ++r) {
      if (has_factor(dims_.results[r], factor)) continue;
      const auto at = [&](const Evaluation& e, size_t i) { return result(e, r).data[i]; };
      for (size_t i = 0; i < result(base_, r).data.size(); ++i)
        EXPECT_NEAR(at(both, i) - at(first, i), at(second, i) - at(base_, i),
                    1e-9 * (1 + std::fabs(at(both, i))))
            << "factor " << factor << " is not summed";
    }
  }

  std::unique_ptr<Module> module_, primitive_;
  Node* node_ = nullptr;
  OpDims dims_;
  EvaluateOptions options_;
  Tensors inputs_, states_;
  Evaluation base_;
  std::mt19937_64 random_;
  std::map<int, std::set<int64_t>> seen_;  // indices of a factor that change a result
  std::set<int> mixed_;                    // factors along which a change moves
};

/// Collectives of several ranks are evaluated together with all ranks, which the other forms are not.
bool is_of_one_rank(const Node& node) { return !node.is(Op::collective) || mesh_axis(node).size == 1; }

void check_all(const Module& module, uint64_t seed, std::set<Op>& checked) {
  for (const auto& graph : module.graphs)
    for (const auto& node : graph->nodes())
      if (is_of_one_rank(*node)) OneOperation(*node, seed).check(), checked.insert(node->op());
}

TEST(OpDims, AreWhatTheEvaluatorComputesForEveryOperation) {
  std::set<Op> checked;
  for (const std::string_view text : {kEveryOperation, kMoreForms}) {
    const auto module = parse_module(text);
    verify_or_throw(*module);
    check_all(*module, 1, checked);
  }
#define SMELT_OP(op, ...) EXPECT_TRUE(checked.contains(Op::op)) << #op;
#include "ir/ops/ops.def"
}

TEST(OpDims, AreWhatTheEvaluatorComputesInRandomGraphs) {
  std::set<Op> checked;
  for (uint64_t seed = 0; seed < 6; ++seed) check_all(*random_module(seed), seed, checked);
}

std::string text_of(const OpDims& dims, const DimFactors& value) {
  static constexpr std::string_view kNames[] = {"carried",   "counted", "summed", "reduced",
                                                "looked_up", "placed",  "whole"};
  std::string text;
  for (const auto& dim : value) {
    text += text.empty() ? "" : ", ";
    for (const int factor : dim)
      text += fmt::format("{}{} {}", factor == dim.front() ? "" : " * ", dims[factor].size.str(),
                          kNames[static_cast<size_t>(dims[factor].relation)]);
  }
  return text;
}

std::string last_dims(std::string_view nodes) {
  const auto module = parse_module(fmt::format(
      "symbols B <= 4, T <= 4 graph @g(%x: f32[B,T,8], %w: f32[6,8], %i: i32[B]) {{ {} }}", nodes));
  const OpDims dims = op_dims(*module->graphs[0]->nodes().back());
  std::string text;
  for (const DimFactors& operand : dims.operands) text += text_of(dims, operand) + "; ";
  text += "->";
  for (const DimFactors& result : dims.results) text += " " + text_of(dims, result) + ";";
  return text;
}

TEST(OpDims, SayHowDimsCorrespond) {
  EXPECT_EQ(last_dims("%y = reshape %x : f32[B*T,2,4]"),
            "B carried, T carried, 2 carried * 4 carried; -> B carried * T carried, 2 carried, 4 carried;");
  EXPECT_EQ(last_dims("%y = matmul %x, %w {spec = \"btc,oc->bto\"}"),
            "B carried, T carried, 8 summed; 6 carried, 8 summed; -> B carried, T carried, 6 carried;");
  EXPECT_EQ(last_dims("%y = gather %w, %i {axis = 0}"),
            "6 looked_up, 8 carried; B carried; -> B carried, 8 carried;");
  EXPECT_EQ(last_dims("%y = concat %w, %w {axis = 0}"),
            "6 placed, 8 carried; 6 placed, 8 carried; -> 6 placed, 8 carried;");
  EXPECT_EQ(last_dims("%y = softmax %w"), "6 carried, 8 whole; -> 6 carried, 8 whole;");
  EXPECT_EQ(last_dims("%y = reduce max %w {axes = [0]}"), "6 reduced, 8 carried; -> 8 carried;");
  EXPECT_EQ(last_dims("%y = iota {axis = 1} : i32[B,T]"), "-> B carried, T counted;");
}

}  // namespace
}  // namespace smelt::testing
