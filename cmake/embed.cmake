# Files as constants of C++, made when CMake runs: what is built needs no file at run time.

# The constant NAME with this text, appended to the variable `definitions` of the caller. A compiler must take no literal of
# more than 65,536 characters, but joins neighbours.
function(smelt_append_text name text)
  string(LENGTH "${text}" length)
  string(APPEND definitions "const std::string_view ${name} =")
  set(at 0)
  while(at LESS length)
    string(SUBSTRING "${text}" ${at} 12000 part)
    string(APPEND definitions "\n    R\"smelt(${part})smelt\"")
    math(EXPR at "${at} + 12000")
  endwhile()
  set(definitions "${definitions};\n" PARENT_SCOPE)
endfunction()

# Writes a file where that changes it: what includes it is compiled again only then.
function(smelt_write_changed file text)
  set(old "")
  if(EXISTS ${file})
    file(READ ${file} old)
  endif()
  if(NOT old STREQUAL text)
    file(WRITE ${file} "${text}")
  endif()
endfunction()

# smelt_embed(TARGET HEADER NAMESPACE NAME...): defines the constants of NAMESPACE that HEADER declares, as a source of TARGET. The
# variable text_NAME of the caller is the text of NAME. Names are qualified, so a constant that HEADER does not declare is an
# error.
function(smelt_embed target header namespace)
  set(definitions "")
  foreach(name IN LISTS ARGN)
    smelt_append_text(${namespace}::${name} "${text_${name}}")
  endforeach()
  string(REGEX REPLACE "\\.h$" ".cpp" source ${PROJECT_BINARY_DIR}/embedded/${header})
  smelt_write_changed(${source} "// Made by cmake/embed.cmake.
#include \"${header}\"

${definitions}")
  target_sources(${target} PRIVATE ${source})
  set_source_files_properties(${source} PROPERTIES SKIP_PRECOMPILE_HEADERS ON)
endfunction()

# smelt_embed_pages(TARGET FOLDER HEADER NAMESPACE PAGE...): web pages. Of each PAGE the constants kPageHtml, from PAGE/PAGE.html,
# and kPageScript, from shared/*.js and PAGE/*.js in the order of their names; and kStyle.
function(smelt_embed_pages target folder header namespace)
  file(GLOB_RECURSE files CONFIGURE_DEPENDS ${folder}/*.js ${folder}/*.css ${folder}/*.html)
  set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${files})
  file(READ ${folder}/shared/style.css text_kStyle)
  set(names kStyle)
  foreach(page IN LISTS ARGN)
    smelt_constant_name(${page})
    file(READ ${folder}/${page}/${page}.html text_${name}Html)
    set(text_${name}Script "")
    file(GLOB scripts ${folder}/shared/*.js)
    file(GLOB own ${folder}/${page}/*.js)
    foreach(file IN LISTS scripts own)
      file(READ ${file} text)
      string(APPEND text_${name}Script "${text}")
    endforeach()
    list(APPEND names ${name}Html ${name}Script)
  endforeach()
  smelt_embed(${target} ${header} ${namespace} ${names})
endfunction()

# The name of a constant, in the variable `name` of the caller: top_k/few is kTopKFew.
function(smelt_constant_name path)
  string(REGEX REPLACE "[_/]" ";" words ${path})
  set(result k)
  foreach(word IN LISTS words)
    string(SUBSTRING ${word} 0 1 first)
    string(SUBSTRING ${word} 1 -1 rest)
    string(TOUPPER ${first} first)
    string(APPEND result ${first}${rest})
  endforeach()
  set(name ${result} PARENT_SCOPE)
endfunction()

# smelt_embed_device_text(TARGET FOLDER NAMESPACE): every .cuh file below FOLDER as a constant of NAMESPACE that FOLDER_text.h
# declares. A file begins with a comment for its readers: this comment and the blank line after it are left out, because
# plans store the text.
function(smelt_embed_device_text target folder namespace)
  file(GLOB_RECURSE files CONFIGURE_DEPENDS RELATIVE ${PROJECT_SOURCE_DIR}/${folder} ${folder}/*.cuh)
  set(names "")
  foreach(file IN LISTS files)
    set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${folder}/${file})
    file(READ ${folder}/${file} text)
    string(FIND "${text}" "\n\n" end)
    if(NOT text MATCHES "^//" OR end EQUAL -1)
      message(FATAL_ERROR "${folder}/${file} begins with no comment that says what it is, and a blank line")
    endif()
    math(EXPR begin "${end} + 2")
    string(REGEX REPLACE "\\.cuh$" "" path ${file})
    smelt_constant_name(${path})
    string(SUBSTRING "${text}" ${begin} -1 text_${name})
    list(APPEND names ${name})
  endforeach()
  smelt_embed(${target} ${folder}_text.h ${namespace} ${names})
endfunction()
