// Layers by the names of sources.
#include "compiler/report/source_layer.h"

#include <gtest/gtest.h>

namespace smelt {
namespace {

TEST(SourceLayer, EndsAtTheFirstNumber) {
  EXPECT_EQ(layer_of("h.3.attention.c_proj"), "h.3");
  EXPECT_EQ(layer_of("bert.encoder.layer.11.output.0"), "bert.encoder.layer.11");
  EXPECT_EQ(layer_of("7.norm"), "7");
}

TEST(SourceLayer, WithoutANumberItIsTheFirstTwoParts) {
  EXPECT_EQ(layer_of("bert.embeddings.LayerNorm"), "bert.embeddings");
  EXPECT_EQ(layer_of("conv2d.x1"), "conv2d.x1");
  EXPECT_EQ(layer_of("wte"), "wte");
  EXPECT_EQ(layer_of(""), "");
}

TEST(SourceLayer, OfSeveralSourcesItIsTheLastUnlessThereAreMany) {
  using Names = std::vector<std::string>;
  EXPECT_EQ(layer_of(Names{"h.0.mlp", "h.1.ln_1", "h.1.attention"}), "h.1");
  EXPECT_EQ(layer_of(Names{"h.0.mlp", "h.1.ln_1", "h.2.ln_1"}), "(several)");
  EXPECT_EQ(layer_of(Names{}), "(none)");
}

TEST(SourceParts, AreThoseOfAFusion) {
  EXPECT_EQ(source_parts("h.0.ln_1 + h.0.mlp"), (std::vector<std::string>{"h.0.ln_1", "h.0.mlp"}));
  EXPECT_EQ(source_parts("a"), std::vector<std::string>{"a"});
  EXPECT_TRUE(source_parts("").empty());
}

}  // namespace
}  // namespace smelt
