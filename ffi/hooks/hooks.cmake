# Adds the code that our hooks in llama.cpp's libraries call (prebuilt/patches). build.sh passes this file as
# CMAKE_PROJECT_llama.cpp_INCLUDE: cmake reads it at project("llama.cpp") and, once all targets exist, calls the function below.

set(SVC_HOOKS_DIR "${CMAKE_CURRENT_LIST_DIR}")

# Includes a header of ours before the first line of a source file, whose hooks call it.
function(svc_include_hook header target source)
    set_property(SOURCE "${CMAKE_CURRENT_SOURCE_DIR}/${source}" TARGET_DIRECTORY ${target}
        APPEND PROPERTY COMPILE_OPTIONS "-include${SVC_HOOKS_DIR}/${header}")
endfunction()

function(svc_add_hooks)
    file(GLOB sources CONFIGURE_DEPENDS "${SVC_HOOKS_DIR}/*.cpp")
    target_sources(llama-common PRIVATE ${sources})
    target_include_directories(llama-common PRIVATE "${SVC_HOOKS_DIR}")
    target_include_directories(llama PRIVATE "${SVC_HOOKS_DIR}" "${SVC_HOOKS_DIR}/../kernels")
    svc_include_hook(cell_positions.h llama src/llama-kv-cache.cpp)
    svc_include_hook(cell_mask.h llama src/llama-kv-cache.cpp)
    svc_include_hook(../kernels/upload_wait.h llama src/llama-context.cpp)
    svc_include_hook(copied_rows.h llama src/llama-context.cpp)
    svc_include_hook(vocab_hooks.h llama src/llama-vocab.cpp)
    svc_include_hook(bpe_words.h llama src/unicode.cpp)
    svc_include_hook(draft_choice.h llama-common common/speculative.cpp)
    svc_include_hook(template_cache.h llama-common common/chat-auto-parser-generator.cpp)
    svc_include_hook(chat_hooks.h llama-common common/chat.cpp)
    svc_include_hook(parser_text.h llama-common common/peg-parser.cpp)
    svc_include_hook(unused_grammar.h llama-common common/json-schema-to-grammar.cpp)
endfunction()

cmake_language(DEFER CALL svc_add_hooks)
