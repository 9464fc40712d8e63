// Values that the loss and the decoder's input are computed from, by the evaluator in float64.
#include "frontend/blocks/blocks.h"
#include "ir/evaluate/evaluator.h"
#include "tests/frontend/built_graph.h"

namespace smelt {
namespace {

/// A graph for parts of a head.
struct HeadGraph {
  explicit HeadGraph(TransformerSpec of)
      : spec(std::move(of)),
        b{.graph = GraphBuilder(module.add_graph("head")),
          .spec = spec,
          .names = ParameterNames(spec),
          .dropout = {}} {}
  Evaluation run(const Tensors& inputs) { return evaluate(*module.find_graph("head"), inputs, {}, {}); }

  Module module;
  TransformerSpec spec;
  BlockBuilder b;
};

/// The expected rows are those of transformers' shift_tokens_right for mBART with the padding token 1.
TEST(Head, TheLastTokenBeforeThePaddingStartsTheDecoder) {
  TransformerSpec spec;
  spec.tokens.pad = 1, spec.tokens.last_starts = true;
  HeadGraph head(spec);
  Value* labels = head.b.graph.input("labels", {DType::i32, {4, 4}});
  head.b.graph.output("ids", teacher_forced(head.b, labels));
  const Evaluation found =
      head.run({{"labels", {DType::i32, {4, 4}, {5, 6, 7, 2, 5, 2, -100, -100, 8, 9, 2, 1, 4, 1, -100, 1}}}});
  EXPECT_EQ(found.outputs.at("ids").data,
            (std::vector<double>{2, 5, 6, 7, 2, 5, 2, 1, 2, 8, 9, 2, 4, 4, 1, 1}));
}

TEST(Head, APartOfTheLossWithoutTargetsLeavesTheOther) {
  HeadGraph head({});
  GraphBuilder& g = head.b.graph;
  const auto part = [&](const std::string& name) {
    return LossOutputs{g.input(name + "_sum", {DType::f32, {}}), g.input(name + "_count", {DType::f32, {}})};
  };
  const LossOutputs first = part("first"), second = part("second");
  const LossOutputs loss = sum_of_means(head.b, {first, second}, 0.5);
  g.output("sum", loss.loss_sum);
  g.output("count", loss.token_count);
  const auto mean = [&](double sum_1, double count_1, double sum_2, double count_2) {
    const auto number = [](double value) { return Tensor{DType::f32, {}, {value}}; };
    const Tensors outputs = head.run({{"first_sum", number(sum_1)},
                                      {"first_count", number(count_1)},
                                      {"second_sum", number(sum_2)},
                                      {"second_count", number(count_2)}})
                                .outputs;
    return outputs.at("sum").data[0] / outputs.at("count").data[0];
  };
  EXPECT_EQ(mean(4, 2, 12, 4), 0.5 * (2 + 3));
  EXPECT_EQ(mean(0, 0, 12, 4), 0.5 * 3);
  EXPECT_EQ(mean(4, 2, 0, 0), 0.5 * 2);
}

}  // namespace
}  // namespace smelt
