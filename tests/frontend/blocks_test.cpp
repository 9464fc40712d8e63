// What fields of the spec make of a block: norms, residuals, heads, positions and what is done to scores.
#include "frontend/blocks/blocks.h"

#include "ir/graph/verifier.h"
#include "llvm/ADT/STLExtras.h"
#include "tests/frontend/built_graph.h"

namespace smelt {
namespace {

using testing::all, testing::from, testing::output, testing::graph_of;
using testing::expect_in, testing::message_of, testing::small_spec;

/// How many such operations the body of a block's attention has.
size_t in_body(const Module& module, ScalarOp op, const char* source) {
  const Node* attention = from(graph_of(module, "logits"), Op::attention, source);
  return llvm::count_if(attention->body->nodes(), [&](const auto& node) { return node->is(op); });
}

TEST(Blocks, BlocksHaveTheWindowThatTheyAreTold) {
  const TransformerSpec spec =
      small_spec(R"({"attention": {"window": 5, "layers": ["full_attention", "sliding_attention"]}})");
  const auto module = build_transformer(spec, {});
  verify_or_throw(*module);
  EXPECT_EQ(in_body(*module, ScalarOp::lt, "h.0.attn"), 0u);
  EXPECT_EQ(in_body(*module, ScalarOp::lt, "h.1.attn"), 1u);
  EXPECT_EQ(in_body(*module, ScalarOp::lt, "h.2.attn"), 0u);
  const auto shorter = build_transformer(spec, {.bounds = {{{"T"}, 5}}});
  EXPECT_EQ(in_body(*shorter, ScalarOp::lt, "h.1.attn"), 0u);  // which no batch can leave
}

TEST(Blocks, ScoresAreCapped) {
  const auto module = build_transformer(small_spec(R"({"attention": {"soft_cap": 5}})"), {});
  verify_or_throw(*module);
  for (const char* source : {"h.0.attn", "h.2.attn"}) EXPECT_EQ(in_body(*module, ScalarOp::tanh, source), 1u);
  EXPECT_EQ(in_body(*build_transformer(small_spec(), {}), ScalarOp::tanh, "h.0.attn"), 0u);
}

TEST(Blocks, AlibiFallsWithTheDistanceOfWhatIsCounted) {
  const char* fields = R"({"positions": {"kind": "alibi", "counted_by_mask": true}})";
  for (const bool masked : {false, true}) {
    const auto module = build_transformer(small_spec(fields), {.attention_mask = masked});
    verify_or_throw(*module);
    const Graph& graph = graph_of(*module, "logits");
    const Node* attention = from(graph, Op::attention, "h.1.attn");
    ASSERT_EQ(attention->operands().size(), masked ? 6u : 4u);  // positions and the mask
    EXPECT_EQ(str(attention->operand(masked ? 4 : 3)->type), "f32[4]");
    EXPECT_EQ(module->find_parameter("transformer.wpe.weight"), nullptr);
  }
}

TEST(Blocks, FieldsThatGoTogetherAreRefusedApart) {
  expect_in(message_of([] {
              build_transformer(small_spec(R"({"attention": {"fused_qkv": false, "qkv_by_head": true},
                                               "embedding": {"width": 7}, "encoder": {"layers": 1, "heads": 2},
                                               "tokens": {"pad": 0, "decoder_start": 1}})"),
                                {});
            }),
            {"2 problems", "attention.qkv_by_head: is an order", "embedding.width: needs a decoder alone"});
  expect_in(
      message_of([] {
        build_transformer(small_spec(R"({"attention": {"window": 3}, "encoder": {"layers": 1, "heads": 2},
                                               "positions": {"kind": "alibi"},
                                               "tokens": {"pad": 0, "decoder_start": 1}})"),
                          {});
      }),
      {"2 problems", "attention.window: needs a decoder alone", "positions.kind: alibi needs a decoder"});
  expect_in(
      message_of([] {
        build_transformer(
            small_spec(R"({"positions": {"kind": "sinusoidal", "offset": 1, "counted_by_mask": true}})"), {});
      }),
      {"1 problem\n", "positions.counted_by_mask: is for learned"});
}

TEST(Blocks, ParallelResidualReadsTheBlocksInput) {
  const auto module = build_transformer(small_spec(R"({"parallel_residual": true})"), {});
  const Graph& graph = graph_of(*module, "logits");
  const Value* input = from(graph, Op::layer_norm, "h.1.ln_1")->operand(0);
  EXPECT_EQ(from(graph, Op::layer_norm, "h.1.ln_2")->operand(0), input);
  const auto serial = build_transformer(small_spec(), {});
  EXPECT_NE(from(graph_of(*serial, "logits"), Op::layer_norm, "h.1.ln_2")->operand(0),
            from(graph_of(*serial, "logits"), Op::layer_norm, "h.1.ln_1")->operand(0));
}

TEST(Blocks, SandwichNormsWhatAPartAdds) {
  const auto module = build_transformer(
      small_spec(
          R"({"family": "transformer", "attention": {"fused_qkv": false}, "norm": {"place": "sandwich"}})"),
      {});
  verify_or_throw(*module);
  const Graph& graph = graph_of(*module, "logits");
  EXPECT_EQ(all(graph, Op::layer_norm).size(), 13u);
  const Node* residual = from(graph, Op::pointwise, "decoder.1.ffn.residual");
  EXPECT_EQ(residual->operand(1)->node()->source, "decoder.1.post_norm_2");
  EXPECT_EQ(residual->operand(1)->node()->operand(0)->node()->source, "decoder.1.ffn.down");
}

TEST(Blocks, ZeroCenteredNormsScaleByOneMore) {
  const auto module =
      build_transformer(small_spec(R"({"norm": {"kind": "rms", "zero_centered": true}})"), {});
  const Value* scale = from(graph_of(*module, "logits"), Op::rms_norm, "h.0.ln_1")->operand(1);
  ASSERT_TRUE(scale->node()->is(ScalarOp::add));
  EXPECT_EQ(scale->node()->operand(1)->node()->get(attr::value), 1);
  EXPECT_EQ(module->find_parameter("transformer.h.0.ln_1.weight")->init,
            (Initializer{Initializer::Kind::value, 0, 0}));
}

TEST(Blocks, QueriesAndKeysAreNormalisedHeadByHead) {
  const auto module =
      build_transformer(small_spec(R"({"family": "transformer", "decoder": {"kv_heads": 2, "head_dim": 10},
                     "attention": {"fused_qkv": false, "qk_norm": true}, "positions": {"kind": "rope"}})"),
                        {});
  verify_or_throw(*module);
  const Graph& graph = graph_of(*module, "logits");
  for (const char* norm : {"decoder.2.attention.query_norm", "decoder.2.attention.key_norm"}) {
    const Value* normal = from(graph, Op::layer_norm, norm)->result();
    EXPECT_EQ(str(normal->type), std::string(norm).find("query") < 30 ? "f32[B,T,4,10]" : "f32[B,T,2,10]");
    EXPECT_EQ(str(module->find_parameter(std::string(norm) + ".weight")->type), "f32[10]");
  }
}

TEST(Blocks, OnlyAPartOfAHeadIsTurned) {
  const auto module =
      build_transformer(small_spec(R"({"positions": {"kind": "rope", "rotary_fraction": 0.5}})"), {});
  verify_or_throw(*module);
  const Node* turned = from(graph_of(*module, "logits"), Op::attention, "h.0.attn")->operand(0)->node();
  ASSERT_TRUE(turned->is(Op::concat));
  ASSERT_EQ(turned->operands().size(), 3u);
  EXPECT_EQ(str(turned->operand(0)->type), "f32[B,T,4,2]");
  const Node* rest = turned->operand(2)->node();
  ASSERT_TRUE(rest->is(Op::slice));
  EXPECT_EQ(rest->get(attr::begin), 4);
  EXPECT_EQ(str(turned->operand(2)->type), "f32[B,T,4,5]");
}

TEST(Blocks, QueryKeyAndValueOfAHeadTogether) {
  const auto module = build_transformer(small_spec(R"({"attention": {"qkv_by_head": true}})"), {});
  const Node* attention = from(graph_of(*module, "logits"), Op::attention, "h.1.attn");
  for (int64_t i = 0; i < 3; ++i) {
    const Node* part = attention->operand(i)->node()->operand(0)->node();
    EXPECT_EQ(part->get(attr::axis), 3);
    EXPECT_EQ(part->get(attr::begin), i);
    EXPECT_EQ(str(part->operand(0)->type), "f32[B,T,4,3,9]");
  }
}

TEST(Blocks, EmbeddingsOfAnotherWidthAreProjected) {
  const auto module = build_transformer(small_spec(R"({"family": "opt", "embedding": {"width": 7}})"),
                                        {.hidden_states = true});
  verify_or_throw(*module);
  EXPECT_EQ(str(module->find_parameter("model.decoder.embed_tokens.weight")->type), "f32[131,7]");
  EXPECT_EQ(str(module->find_parameter("model.decoder.project_in.weight")->type), "f32[36,7]");
  EXPECT_EQ(str(module->find_parameter("model.decoder.project_out.weight")->type), "f32[7,36]");
  const Graph& graph = graph_of(*module, "logits");
  EXPECT_EQ(str(output(graph, "hidden.0")->type), "f32[B,T,36]");
  EXPECT_EQ(str(output(graph, "hidden.3")->type), "f32[B,T,7]");
}

TEST(Blocks, LogitsAreCapped) {
  const auto module = build_transformer(small_spec(R"({"head": {"soft_cap": 30}})"), {});
  const Node* capped = output(graph_of(*module, "logits"), "logits")->node();
  ASSERT_TRUE(capped->is(ScalarOp::mul));
  EXPECT_EQ(capped->operand(1)->node()->get(attr::value), 30);
  EXPECT_TRUE(capped->operand(0)->node()->is(ScalarOp::tanh));
}

}  // namespace
}  // namespace smelt
