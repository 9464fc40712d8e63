// Spelling of rotary positions, and of their scaling, in configs.
#include "frontend/families/families.h"

namespace smelt {

namespace {

const std::vector<Spelling> kRopeScalings = {
    {R"("default")", R"("none")"},  {R"("linear")", R"("linear")"}, {R"("dynamic")", R"("dynamic")"},
    {R"("llama3")", R"("llama3")"}, {R"("yarn")", R"("yarn")"},     {R"("longrope")", R"("longrope")"},
    {R"("su")", R"("longrope")"}};
const std::vector<Spelling> kRounded = {{"true", "false"}, {"false", "true"}};

/// A row of rope_parameters, or of rope_scaling as older configs call it.
FieldRow rope_row(std::string_view now, std::string_view before, std::string_view spec) {
  return {.config = now, .spec = spec, .also_called = {before}, .unsaid_if_empty = true};
}

}  // namespace

std::vector<FieldRow> rope_fields() {
  return {
      {.config = "rope_parameters.rope_theta",
       .spec = "positions.rope_theta",
       .also_called = {"rope_scaling.rope_theta", "rope_theta"},
       .unsaid_if_empty = true},
      {.config = "rope_parameters.rope_type",
       .spec = "positions.scaling",
       .spellings = &kRopeScalings,
       .also_called = {"rope_parameters.type", "rope_scaling.rope_type", "rope_scaling.type"}},
      rope_row("rope_parameters.factor", "rope_scaling.factor", "positions.scaling_factor"),
      rope_row("rope_parameters.low_freq_factor", "rope_scaling.low_freq_factor",
               "positions.low_freq_factor"),
      rope_row("rope_parameters.high_freq_factor", "rope_scaling.high_freq_factor",
               "positions.high_freq_factor"),
      rope_row("rope_parameters.beta_fast", "rope_scaling.beta_fast", "positions.beta_fast"),
      rope_row("rope_parameters.beta_slow", "rope_scaling.beta_slow", "positions.beta_slow"),
      rope_row("rope_parameters.attention_factor", "rope_scaling.attention_factor",
               "positions.attention_factor"),
      rope_row("rope_parameters.original_max_position_embeddings",
               "rope_scaling.original_max_position_embeddings", "positions.original_max_positions"),
      rope_row("rope_parameters.mscale", "rope_scaling.mscale", "positions.mscale"),
      rope_row("rope_parameters.mscale_all_dim", "rope_scaling.mscale_all_dim", "positions.mscale_all_dim"),
      rope_row("rope_parameters.short_factor", "rope_scaling.short_factor", "positions.short_factors"),
      rope_row("rope_parameters.long_factor", "rope_scaling.long_factor", "positions.long_factors"),
      {.config = "rope_parameters.truncate",
       .spec = "positions.exact_bounds",
       .spellings = &kRounded,
       .also_called = {"rope_scaling.truncate"},
       .unsaid_if_empty = true},
  };
}

std::vector<FieldRow> partial_rope_fields() {
  return joined({rope_fields(),
                 {{.config = "rope_parameters.partial_rotary_factor",
                   .spec = "positions.rotary_fraction",
                   .also_called = {"rope_scaling.partial_rotary_factor", "partial_rotary_factor"}}}});
}

const std::vector<FixedRow> kRopeFixed = {{"rope_parameters.partial_rotary_factor", "1"},
                                          {"rope_scaling.partial_rotary_factor", "1"}};

}  // namespace smelt
