// Every bound of the program, with its unit and where it comes from.

/** Request body, bytes. Spec: Limits. */
export const REQUEST_BODY_BYTES_MAX = 50 * 1024 * 1024;
/** Bytes beyond that are read and dropped before 413 is answered: a client that still sends would lose the answer. */
export const BODY_DRAIN_BYTES_MAX = 200 * 1024 * 1024;
/** Time that a request body may bring nothing, milliseconds, and bytes a second that it must bring besides, on average. */
export const BODY_STALL_MS = 120_000;
export const BODY_BYTES_PER_SEC_MIN = 1024;
/**
 * Time after an answer that its connection waits for the next head, or for its client to take more of the answer, seconds.
 * Bun's largest; its own limit for the first head is 10 s.
 */
export const CONNECTION_IDLE_SECS = 255;
/** Levels of a JSON body, and objects and arrays in it: each takes a hundred bytes of memory for two of the body. */
export const JSON_DEPTH_MAX = 128;
export const JSON_PARTS_MAX = 1_000_000;
/** Time between SSE keep-alive comments, milliseconds. Spec: Events (KEEP_ALIVE_INTERVAL). */
export const KEEP_ALIVE_MS = 10_000;
/** Longest time that a timer can wait, milliseconds: beyond 31 bits it fires at once. */
export const TIMER_MS_MAX = 2 ** 31 - 1;
/** Time that a command which is only tried gets, milliseconds. */
export const PROBE_MS = 2_000;
/** Stop strings a request may name. The base dialect allows 4; tools send more. */
export const STOP_STRINGS_MAX = 64;
/** Characters of one stop string. */
export const STOP_STRING_CHARS_MAX = 1024;
/** Sequence breakers that a request may give to DRY sampling, and the characters of one. */
export const DRY_BREAKERS_MAX = 64;
export const DRY_BREAKER_CHARS_MAX = 128;
/** Continuations of one prompt. The base dialect allows 128. */
export const CHOICES_MAX = 128;
/** Alternatives reported a token, in chat and in completions. Base dialect. */
export const TOP_LOGPROBS_MAX = 20;
export const COMPLETION_TOP_LOGPROBS_MAX = 5;
/** Prompts of one completions request, and continuations of all of them together. */
export const COMPLETION_PROMPTS_MAX = 256;
export const COMPLETION_CHOICES_MAX = 1024;
/** Inputs of one embeddings request. The base dialect allows 2048. */
export const EMBED_INPUTS_MAX = 2048;
/** Files of one infill request, and tokens kept free for an answer without a cap of its own. */
export const INFILL_FILES_MAX = 1024;
export const INFILL_ANSWER_TOKENS = 256;
/** Documents of one rerank request. */
export const RANK_DOCUMENTS_MAX = 2048;
/** Token ids are 32-bit in the engine. */
export const TOKEN_ID_MAX = 2 ** 31 - 1;
/** Characters of a model's name that are matched with patterns of aliases. */
export const ALIASED_NAME_CHARS_MAX = 512;
/** Tools that a request may declare, and characters of a tool's name. */
export const TOOLS_MAX = 1024;
export const TOOL_NAME_CHARS_MAX = 256;
/** Values in the schema of a tool's arguments, members of one object in it, and its levels. */
export const TOOL_SCHEMA_PARTS_MAX = 4000;
export const TOOL_PROPERTIES_MAX = 500;
export const TOOL_SCHEMA_DEPTH_MAX = 64;
/** Schemas that one schema of a tool combines, its references written out. */
export const TOOL_ALTERNATIVES_MAX = 1000;
/** Bytes of encoded media an engine keeps for later prompts, and contents it remembers by number. */
export const ENCODINGS_BYTES_MAX = 256 * 1024 * 1024;
export const MEDIA_KINDS_MAX = 4096;
/** Grammars of one grammar set. */
export const GRAMMARS_MAX = 64;
/** Files that a request may ask for, and files that a body holds; the others stay in the store. */
export const REQUESTED_FILES_MAX = 64;
export const FILES_IN_BODY_MAX = 64;
/** Files kept, and the life of each from its creation, milliseconds. Spec: Limits. */
export const FILES_MAX = 4096;
export const FILE_LIFE_MS = 30 * 60 * 1000;
/** Bytes of all files' bodies; beyond it the oldest bodies are elided. */
export const FILE_BODIES_BYTES_MAX = 1024 * 1024 * 1024;
/** Of the memory that is free at the start, the share that bytes of files may take where they are kept in memory. */
export const FILE_BODIES_SHARE = 0.25;
/** Largest body that a JSON body or event carries. Spec: Limits. */
export const FILE_INLINE_BYTES_MAX = 8 * 1024 * 1024;
/** Characters of an input file's preview, bytes of an agent output's. Spec: Limits. */
export const INPUT_PREVIEW_CHARS_MAX = 4096;
export const OUTPUT_PREVIEW_BYTES_MAX = 1024;
/** Largest file that a request brings or names, bytes, and files of one request. Spec: agent runtime. */
export const INPUT_FILE_BYTES_MAX = 64 * 1024 * 1024;
export const INPUT_FILES_MAX = 64;
/** Largest picture or recording, bytes, and bytes of all of one request: they travel to the engine as one message. */
export const MEDIA_BYTES_MAX = 32 * 1024 * 1024;
export const REQUEST_MEDIA_BYTES_MAX = 64 * 1024 * 1024;
/** Pictures of one request, unless the model's settings name another number, and pictures and recordings together. */
export const IMAGES_MAX = 64;
export const MEDIA_MAX = 128;
/** Pixels of a picture: what decoding it may cost, four bytes for each. */
export const PICTURE_PIXELS_MAX = 64 * 1024 * 1024;
/** Seconds of all recordings of one request, unless the model's settings name another number. */
export const AUDIO_SECONDS_MAX = 3600;
/** Characters of all previews of one request. Spec: Limits. */
export const REQUEST_PREVIEW_CHARS_MAX = 32_768;
/** Skills, and versions of one. */
export const STORED_SKILLS_MAX = 1024;
export const SKILL_VERSIONS_MAX = 1024;
/** Items of one page of a paged list, and the most that may be asked for. */
export const SKILLS_PAGE = 20;
export const SKILLS_PAGE_MAX = 100;
/** Files of a skill, bytes of one and of all, unpacked. Spec: agent runtime. */
export const SKILL_ENTRIES_MAX = 500;
export const SKILL_FILE_BYTES_MAX = 50 * 1024 * 1024;
export const SKILL_BYTES_MAX = 200 * 1024 * 1024;
/** Characters of a path in a skill, and how many names it may have. */
export const SKILL_PATH_CHARS_MAX = 1024;
export const SKILL_PATH_DEPTH_MAX = 32;
/** Characters of a SKILL.md's head, and of what it says. */
export const SKILL_HEAD_CHARS_MAX = 65_536;
export const SKILL_NAME_CHARS_MAX = 256;
export const SKILL_DESCRIPTION_CHARS_MAX = 8192;
/** Depth and lines of the file tree that the model is shown of a skill. */
export const SKILL_TREE_DEPTH_MAX = 4;
export const SKILL_TREE_LINES_MAX = 80;
/** Age at which an unfinished upload is taken for a forgotten one, milliseconds. */
export const SKILL_LEFTOVER_MS = 60 * 60 * 1000;
/** Time to fetch what an address names, milliseconds, and redirects that are followed. */
export const FETCH_MS = 30_000;
export const FETCH_REDIRECTS_MAX = 3;
/** Characters of a file's name, of its purpose, of a form's text field. */
export const FILE_NAME_CHARS_MAX = 255;
export const FILE_PURPOSE_CHARS_MAX = 64;
export const FORM_FIELD_CHARS_MAX = 4096;
/** Parts of an uploaded form, and header lines of one part with their bytes. */
export const FORM_PARTS_MAX = 1000;
export const FORM_PART_HEADERS_MAX = 16;
export const FORM_PART_HEADER_BYTES_MAX = 16 * 1024;
/** Pause between sweeps of what has expired, milliseconds. */
export const STATE_SWEEP_MS = 120_000;
/** Kinds of actions that a session remembers to be approved. */
export const SESSION_TRUST_MAX = 256;
/** Sessions kept, and their life from the last use, milliseconds. */
export const SESSIONS_MAX = 128;
export const SESSION_IDLE_MS = 30 * 60 * 1000;
/** Characters of all sessions together; beyond it the least recently used go. */
export const SESSIONS_CHARS_MAX = 128 * 1024 * 1024;
/** Bytes of files' bodies in an exported session: with base64 it still fits a request body. */
export const SESSION_EXPORT_BYTES_MAX = 32 * 1024 * 1024;
/** Files of an exported session, and pictures and recordings each. */
export const SESSION_FILES_MAX = 256;
export const SESSION_MEDIA_MAX = 1024;
/** Characters of a session's name. */
export const SESSION_ID_CHARS_MAX = 256;
/** Skills that a request may mount. */
export const SKILLS_MAX = 64;
/** Hosts in a search filter. Spec: Limits. */
export const SEARCH_DOMAINS_MAX = 100;
/** Hits of one search whose pages are read, and searches at a provider that name their domains in the query. */
export const SEARCH_HITS_MAX = 10;
export const SEARCH_SITE_TERMS_MAX = 8;
/** Time a search provider has, and bytes of its answer. Spec: agent runtime. */
export const SEARCH_PROVIDER_MS = 10_000;
export const SEARCH_ANSWER_BYTES_MAX = 2 * 1024 * 1024;
/** Characters of a query, and of the title and the description of a hit. */
export const SEARCH_QUERY_CHARS_MAX = 2000;
export const SEARCH_LABEL_CHARS_MAX = 500;
/** Bytes of a page, time to fetch it, and time for all pages of a search, milliseconds. */
export const PAGE_BYTES_MAX = 4 * 1024 * 1024;
export const PAGE_FETCH_MS = 10_000;
export const PAGES_MS = 20_000;
/** Pages fetched at the same time, and pages taken apart, over all requests. */
export const PAGE_FETCHES_MAX = 16;
export const READERS_MAX = 2;
/** Time a reader process has for one page, milliseconds; ordinary ones take a tenth of a second. */
export const READ_MS = 6_000;
/** Elements of a page, and their depth, up to which its article is picked out: a second at most, measured. */
export const ARTICLE_ELEMENTS_MAX = 15_000;
export const ARTICLE_DEPTH_MAX = 150;
/** Characters below which an article is taken for a mistake. */
export const ARTICLE_CHARS_MIN = 140;
/** Characters of a page that are looked at. */
export const PAGE_CHARS_MAX = 100_000;
/** Tokens that results may have by the size asked for. Spec: agent runtime. */
export const SEARCH_BUDGET_TOKENS = { low: 4096, medium: 8192, high: 16_384 } as const;
/** Part of a model's context that the results of one call may take, and tokens of what stands around them. */
export const SEARCH_CONTEXT_SHARE = 0.25;
export const SEARCH_FRAME_TOKENS = 100;
/** Characters of a passage, about 500 tokens at most, and passages that an embedding model ranks. */
export const PASSAGE_CHARS_MAX = 1500;
export const PASSAGES_RERANKED_MAX = 20;
/** Characters below which the beginning of a passage is not worth telling. */
export const RESULT_PIECE_CHARS_MIN = 200;
/** Guesses at how much of the results fits their budget. */
export const SEARCH_FITS_MAX = 4;
/** Tool rounds of a request where neither it nor the server names a cap. Spec: Limits. */
export const TOOL_ROUNDS_MAX = 256;
/** Longest context whose model is told of tools in short, tokens: full descriptions take about a thousand. */
export const BRIEF_CONTEXT_TOKENS = 4096;
/** Characters of one text of a tool result for the model, and of one slice of a file. */
export const TOOL_TEXT_CHARS_MAX = 65_536;
/** Installed Python packages that a model is told of. */
export const PACKAGES_TOLD_MAX = 200;
/** Time a person has to approve an action, milliseconds. Spec: States. */
export const APPROVAL_WAIT_MS = 300_000;
/** Body of an answer to an approval, bytes, and characters of its message to the model. */
export const APPROVAL_BODY_BYTES_MAX = 1024 * 1024;
export const APPROVAL_MESSAGE_CHARS_MAX = 4096;
/** Answer of a tool behind the dispatch URL, bytes. */
export const DISPATCH_ANSWER_BYTES_MAX = 8 * 1024 * 1024;
/** Characters of an adapter's alias, and bytes of a body that loads or unloads one. */
export const ADAPTER_ALIAS_CHARS_MAX = 256;
export const ADAPTER_BODY_BYTES_MAX = 64 * 1024;
/** Stored responses, and how long each is kept, milliseconds: a day. */
export const RESPONSES_MAX = 1024;
export const RESPONSE_LIFE_MS = 24 * 60 * 60 * 1000;
/** Responses that run in the background at the same time. */
export const BACKGROUND_RUNS_MAX = 256;
/** Finished background responses whose streams can still be read again. */
export const FRAME_LOGS_MAX = 16;
/** Input items of a response in one answer. Base dialect. */
export const INPUT_ITEMS_PAGE_MAX = 100;
/** Rows that a calibration can be asked to count. */
export const CALIBRATION_ROWS_MAX = 2 ** 40;
/** Messages in one conversation. */
export const MESSAGES_MAX = 16_384;
/** Runs that may wait for a sequence in one engine before new ones get 429. */
export const QUEUE_MAX = 1024;
/**
 * Requests sent to an engine beyond those that it can work on, as a share of them: enough to replace at once what ends in one
 * step, and few, because those it has are no longer put in a fair order.
 */
export const ENGINE_AHEAD = 0.5;
/** Time that a model's chat template has to be tried out when it is loaded; usual ones take a few, milliseconds. */
export const TEMPLATE_TRIAL_MS = 20_000;
/** Time between two looks at how many connections the kernel has dropped, milliseconds. */
export const DROPS_CHECK_MS = 5_000;
/** Requests that begin in one turn of the event loop; the next turn takes in what has arrived meanwhile. */
export const BEGINNINGS_AT_ONCE = 16;
/** Time after which a request whose body is still on its way no longer keeps others out, milliseconds. */
export const SLOW_ARRIVAL_MS = 1_000;
/** Time that last frames get to reach their clients after a drain, milliseconds. */
export const FLUSH_MS = 1_000;
/** Time an engine process gets to end by itself before it is killed, milliseconds. */
export const ENGINE_STOP_MS = 3_000;
/** An engine is asked for a sign of life so many times within `hang_timeout`, and at least this often, milliseconds. */
export const ENGINE_PINGS = 6;
export const ENGINE_PING_MS_MAX = 5_000;
/** An engine that uses the processor without answering may do so for this many times that timeout: steps can be long. */
export const ENGINE_BUSY_TIMEOUTS = 40;
/** Time a prompt may take to be rendered and its grammar to be compiled, milliseconds; 50 MB take some minutes. */
export const RENDER_MS_MAX = 15 * 60_000;
/** First pause before a dead engine is started again, milliseconds; doubles up to the maximum. */
export const ENGINE_RESTART_MS = 100;
export const ENGINE_RESTART_MS_MAX = 10_000;
/** Engines in a row that may die while loading before the next one waits for a request. */
export const ENGINE_LOAD_DEATHS_MAX = 3;
/** Time between two looks at confined processes, milliseconds; more where a look takes long. Spec: sandbox caps. */
export const SANDBOX_POLL_MS = 200;
export const SANDBOX_POLL_MS_MAX = 500;
/** A look should take one part in so many of the time. */
export const SANDBOX_POLL_SHARE = 50;
/** Time between two measurements of a private working directory, milliseconds, and what may lie in it. */
export const WORKDIR_POLL_MS = 1_000;
/** Pause between questions to the kernel about a tree's sockets, where they may matter, milliseconds. */
export const SOCKETS_POLL_MS = 400;
export const WORKDIR_BYTES_MAX = 4 * 1024 * 1024 * 1024;
export const WORKDIR_ENTRIES_MAX = 200_000;
/** Free bytes of its disk below which a private working directory may not grow. */
export const DISK_RESERVE_BYTES = 1024 * 1024 * 1024;
/** Bytes of one file that confined processes write, and files that one of them holds open. */
export const SANDBOX_FILE_BYTES_MAX = 256 * 1024 * 1024;
export const SANDBOX_OPEN_FILES_MAX = 1024;
/** Time a mechanism's trial run may take, milliseconds. */
export const SANDBOX_PROBE_MS = 10_000;
/** Trial runs of one mechanism. */
export const SANDBOX_TRIALS = 3;
/**
 * Users that sessions run as where the server is root. Distributions leave this range free, and it lies below 65536 as
 * containers need it.
 */
export const SANDBOX_UID_FIRST = 60_706;
export const SANDBOX_UIDS = 478;
/** Time between two attempts to kill what a tool has left behind, milliseconds. */
export const SANDBOX_KILL_MS = 20;

/** The pipes of a process that has ended are read for so long, milliseconds: somebody who got away may hold them for ever. */
export const SANDBOX_PIPES_MS = 1_000;
/** Sessions that hold a Python interpreter or a shell folder at the same time, each; the longest idle one makes room. */
export const EXEC_SESSIONS_MAX = 64;
/** Time without a call after which a session's interpreter and folders go, and between two looks, milliseconds. */
export const EXEC_IDLE_MS = 60 * 60_000;
export const EXEC_SWEEP_MS = 5 * 60_000;
/** Time an interpreter gets to answer once it was interrupted, milliseconds. */
export const PYTHON_INTERRUPT_MS = 3_000;
/** Time the end of a cell's output may take to arrive after its reply, milliseconds. */
export const PYTHON_OUTPUT_MS = 2_000;
/** Bytes of a cell's standard output and error each, and of an interpreter's reply, pictures included. */
export const PYTHON_OUTPUT_BYTES_MAX = 1024 * 1024;
/** Pause after each piece of an output of which more has come than is kept, milliseconds. */
export const OUTPUT_PAUSE_MS = 1;
export const PYTHON_REPLY_BYTES_MAX = 64 * 1024 * 1024;
/** Characters of a shell call's output and error each: where the call says nothing, and at most. */
export const SHELL_OUTPUT_CHARS = 4096;
export const SHELL_OUTPUT_CHARS_MAX = 1024 * 1024;
/** Files that one call reports, bytes of one, and bytes of all. */
export const PRODUCED_FILES_MAX = 64;
export const PRODUCED_FILE_BYTES_MAX = 256 * 1024 * 1024;
export const PRODUCED_BYTES_MAX = 512 * 1024 * 1024;
/** Time the start-up checks of Python and the shell may take, milliseconds. */
export const EXEC_PROBE_MS = 20_000;
/** Time the model hub gets to answer a question, and a download to bring its next bytes, milliseconds. */
export const HUB_ANSWER_MS = 30_000;
export const DOWNLOAD_STALL_MS = 30_000;
/** Tries of a download in a row that bring nothing, first pause between them, and the longest, milliseconds. */
export const DOWNLOAD_TRIES = 5;
export const DOWNLOAD_RETRY_MS = 1_000;
export const DOWNLOAD_RETRY_MS_MAX = 30_000;
/** Addresses that a download may be passed on to. */
export const DOWNLOAD_REDIRECTS_MAX = 5;
/** A download's lock is renewed and looked at this often, and abandoned when it was not renewed for so long, milliseconds. */
export const LOCK_BEAT_MS = 500;
export const LOCK_STALE_MS = 15_000;
/** Time after a failed load during which requests are told so instead of trying again, milliseconds. */
export const FAILED_LOAD_MS = 5_000;
/** Time between two lines of the log about a download, milliseconds. */
export const DOWNLOAD_LOG_MS = 10_000;
/** Lines of the terminal chat's history, and characters of one; a longer line is not kept. */
export const HISTORY_LINES_MAX = 1000;
export const HISTORY_LINE_CHARS_MAX = 16_384;
/** Lines that may be typed ahead while an answer runs. */
export const TYPED_AHEAD_MAX = 256;
/** Files that the terminal chat keeps of those that tools have made. */
export const CHAT_FILES_MAX = 256;
/** Checkpoints of a model's state: each lookup compares with all of them. */
export const CHECKPOINTS_MAX = 128;
/** llama.cpp: LLAMA_MAX_SEQ. */
export const SLOTS_MAX = 256;
/** Time after which a tuning measures nothing more, milliseconds; what has begun is finished. */
export const TUNE_MS_MAX = 5 * 60 * 1000;
/** MCP servers of a configuration, tools that one may have, and pages in which it may list them. */
export const MCP_SERVERS_MAX = 256;
export const MCP_TOOLS_MAX = 1024;
export const MCP_PAGES_MAX = 1024;
/** Time of an MCP server's calls and of its other answers where its configuration says nothing, seconds. Spec: MCP. */
export const MCP_TIMEOUT_SECS = 30;
/** Calls to all MCP servers at the same time where the configuration says nothing. Spec: MCP. */
export const MCP_CALLS_MAX = 10;
/** Time an MCP server's process gets to end before it is asked by a signal, and again before it is killed, milliseconds. */
export const MCP_STOP_MS = 1_000;
/** One message of an MCP server, bytes, and what is kept of the end of its stderr, characters. */
export const MCP_MESSAGE_BYTES_MAX = 64 * 1024 * 1024;
export const MCP_STDERR_CHARS_MAX = 2_000;
/** First pause before a lost MCP server is connected to again, milliseconds; doubles up to the maximum. */
export const MCP_RECONNECT_MS = 500;
export const MCP_RECONNECT_MS_MAX = 60_000;
/** Time to reach an MCP server and to shake hands with it, milliseconds. */
export const MCP_CONNECT_MS = 30_000;
/** Depth of a tool's JSON schema; what lies deeper may be anything. */
export const MCP_SCHEMA_DEPTH_MAX = 32;
/** Characters of an MCP tool's description for models with a small context. */
export const MCP_BRIEF_CHARS = 120;
/** How often a picture that is being drawn is asked how far it is, milliseconds. */
export const DRAWING_POLL_MS = 20;
/** Pictures of one request; longest edge and most pixels of one, and its shortest edge. */
export const IMAGE_COUNT_MAX = 10;
export const IMAGE_EDGE_MIN = 16;
export const IMAGE_EDGE_MAX = 4096;
export const IMAGE_PIXELS_MAX = 2048 * 2048;
/** Characters of a picture's prompt: an encoder's work grows with the square of it. */
export const IMAGE_PROMPT_CHARS_MAX = 4000;
/** Files of pictures that are kept, all their bytes, and the life of each, milliseconds: that of the base dialect's links. */
export const IMAGE_FILES_MAX = 1000;
export const IMAGE_FILES_BYTES_MAX = 1024 * 1024 * 1024;
export const IMAGE_FILE_LIFE_MS = 60 * 60 * 1000;
/** Characters of a text to speak: more than an hour of speech. */
export const SPEECH_INPUT_CHARS_MAX = 65_536;
/** Speeches that one engine speaks in turns, besides as many as may wait (queue_max). */
export const SPEECHES_MAX = 32;
/** Characters spoken at once: what others wait for, and an abort. About ten seconds of speech. */
export const SPEECH_PIECE_CHARS_MAX = 200;
/** Characters beyond which the first piece of a speech ends with a clause instead of its sentence. */
export const SPEECH_FIRST_PIECE_CHARS = 80;
/** Characters of a word; flite's time grows with their square. */
export const SPEECH_WORD_CHARS_MAX = 30;
/** Pieces of a speech that may be made ahead of its reader. */
export const SPEECH_AHEAD = 2;
/** Loudest sample, of 32767, up to which speech counts as silence: voices breathe. */
export const SPEECH_SILENCE_PEAK = 256;
