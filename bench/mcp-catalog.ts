// Tools as 30 MCP servers declare them, ten each, and tasks that need one of them: 300 tools are about 120,000 tokens of schemas.

/** A tool as MCP servers declare it. */
export interface CatalogTool {
  readonly name: string;
  readonly description: string;
  readonly parameters: object;
}

/** What a user wants, the words with which a model looks for a tool, and the tool. */
export interface CatalogTask {
  readonly wish: string;
  readonly query: string;
  readonly tool: string;
}

/** Servers, with the two things that each is about. */
const SERVERS = [
  ["github", "GitHub", "issue", "pull_request"],
  ["gitlab", "GitLab", "merge_request", "pipeline"],
  ["jira", "Jira", "ticket", "sprint"],
  ["linear", "Linear", "cycle", "project"],
  ["slack", "Slack", "message", "channel"],
  ["gmail", "Gmail", "email", "label"],
  ["calendar", "Google Calendar", "event", "attendee"],
  ["drive", "Google Drive", "document", "folder"],
  ["notion", "Notion", "page", "database"],
  ["confluence", "Confluence", "article", "space"],
  ["postgres", "PostgreSQL", "table", "index"],
  ["mongodb", "MongoDB", "collection", "aggregation"],
  ["redis", "Redis", "key", "stream"],
  ["s3", "Amazon S3", "object", "bucket"],
  ["kubernetes", "Kubernetes", "pod", "deployment"],
  ["docker", "Docker", "container", "image"],
  ["sentry", "Sentry", "error_group", "release"],
  ["grafana", "Grafana", "dashboard", "alert_rule"],
  ["pagerduty", "PagerDuty", "incident", "on_call_shift"],
  ["stripe", "Stripe", "invoice", "subscription"],
  ["shopify", "Shopify", "product", "order"],
  ["hubspot", "HubSpot", "contact", "deal"],
  ["salesforce", "Salesforce", "lead", "opportunity"],
  ["zendesk", "Zendesk", "support_request", "macro"],
  ["figma", "Figma", "frame", "component"],
  ["browser", "the browser", "tab", "download"],
  ["filesystem", "the local file system", "file", "directory"],
  ["weather", "the weather service", "forecast", "storm_warning"],
  ["maps", "the map service", "route", "place"],
  ["spotify", "Spotify", "playlist", "track"],
] as const;

const VERBS = [
  ["list", "List the", "with filters, sorting and pages"],
  ["get", "Get one", "by its identifier, with its history and relations"],
  ["create", "Create a new", "and return its identifier and address"],
  ["update", "Change an existing", "and keep the fields that are not named"],
  ["delete", "Delete one", "for good, or move it to the archive"],
] as const;

const text = (description: string) => ({ type: "string", description });

function parameters(verb: string, thing: string, label: string): object {
  const many = {
    filter: {
      type: "object",
      description: `Conditions that each ${thing} must meet; all of them must hold`,
      properties: {
        text: text(`Words that the title or the body of the ${thing} contains, in any order`),
        owner: text("Name or email address of the person who is responsible"),
        updated_after: text("Only what changed after this time, as an ISO 8601 date with a time zone"),
        state: { type: "string", enum: ["open", "active", "paused", "closed", "archived"] },
      },
    },
    sort: {
      type: "string",
      enum: ["created", "updated", "name", "relevance"],
      description: "Order of the results",
    },
    limit: {
      type: "integer",
      minimum: 1,
      maximum: 100,
      description: "Most results of a page; 20 unless given",
    },
    cursor: text("Where the next page begins: `next_cursor` of the answer before"),
  };
  const one = { id: text(`Identifier of the ${thing}, as a list or a search in ${label} returns it`) };
  const fields = {
    title: text(`Title of the ${thing}, at most 200 characters, without line breaks`),
    body: text("Text in Markdown; links and mentions are resolved when it is saved"),
    labels: {
      type: "array",
      items: { type: "string" },
      description: "Labels, which are created where they are missing",
    },
    fields: {
      type: "object",
      description: "Further fields by their names, as the workspace defines them",
      additionalProperties: { type: ["string", "number", "boolean", "null"] },
    },
    dry_run: {
      type: "boolean",
      default: false,
      description: "Check permissions and values, and change nothing",
    },
  };
  const shared = {
    workspace: text(`Workspace or account in ${label}; the one of the signed-in user unless given`),
    include: {
      type: "array",
      items: { type: "string", enum: ["history", "comments", "attachments", "permissions", "relations"] },
      description: "Parts to return besides the usual fields; each makes the answer slower and longer",
    },
  };
  const own = {
    list: many,
    get: one,
    create: fields,
    update: { ...one, ...fields },
    delete: { ...one, ...fields },
  };
  const properties = { ...own[verb as keyof typeof own], ...shared };
  const required = verb === "list" ? [] : verb === "create" ? ["title"] : ["id"];
  return { type: "object", properties, required, additionalProperties: false };
}

/** The first tools of the catalogue, in the same order each time. */
export function catalogTools(count: number): readonly CatalogTool[] {
  const all = SERVERS.flatMap(([server, label, ...things]) =>
    things.flatMap((thing) =>
      VERBS.map(([verb, beginning, end]) => {
        const noun = thing.replaceAll("_", " ");
        const description = `${beginning} ${noun}${verb === "list" ? "s" : ""} in ${label}, ${end}. Needs a connected account.`;
        return { name: `${server}_${verb}_${thing}`, description, parameters: parameters(verb, noun, label) };
      }),
    ),
  );
  return all.slice(0, count);
}

/** Wishes, what a model looks for, and what it needs. */
const TASKS = `
Report that the login button does nothing|create github issue|github_create_issue
Which pull requests wait for review?|list pull requests|github_list_pull_request
Close the pull request about fonts for good|delete pull request|github_delete_pull_request
What does merge request 12 change?|get merge request|gitlab_get_merge_request
Start the pipeline of the release branch|create a pipeline in gitlab|gitlab_create_pipeline
Put the outage into our tracker|jira ticket create|jira_create_ticket
What is in this sprint?|get sprint|jira_get_sprint
Extend the current cycle by a week|update the cycle in linear|linear_update_cycle
Begin a project for the new site|linear create project|linear_create_project
Tell the team that lunch is ready|send slack message|slack_create_message
Which channels are there?|list slack channels|slack_list_channel
Take back my last message|delete a message in slack|slack_delete_message
Find the mail from Ada|list emails|gmail_list_email
Mail the report to Grace|create email gmail|gmail_create_email
Rename the label "later"|update gmail label|gmail_update_label
Move the review to Friday|update calendar event|calendar_update_event
Who comes to the party?|calendar attendees list|calendar_list_attendee
Begin a document for the minutes|create document in drive|drive_create_document
Remove the folder "old"|delete drive folder|drive_delete_folder
Read the page about holidays|get notion page|notion_get_page
Add a database of books|notion database create|notion_create_database
Correct the article on VPN|update article confluence|confluence_update_article
Which spaces do we have?|list confluence spaces|confluence_list_space
Which tables does the database have?|list tables postgresql|postgres_list_table
Make lookups by email fast|create index in postgres|postgres_create_index
Drop the collection of test data|delete collection mongodb|mongodb_delete_collection
What does the sales aggregation compute?|get aggregation|mongodb_get_aggregation
Read the key session:7|redis get key|redis_get_key
Which streams are there in Redis?|list redis streams|redis_list_stream
Delete last year's bucket|delete bucket s3|s3_delete_bucket
Upload the logo|create object amazon s3|s3_create_object
Why does the pod restart?|get kubernetes pod|kubernetes_get_pod
Scale the shop to five replicas|update deployment|kubernetes_update_deployment
Which containers run?|docker container list|docker_list_container
Free the disk of the image from May|delete docker image|docker_delete_image
What is the newest error about?|get error group|sentry_get_error_group
Note that 2.4 is out|create release sentry|sentry_create_release
Show me the dashboard of the database|get grafana dashboard|grafana_get_dashboard
Warn us when disks fill up|create alert rule|grafana_create_alert_rule
Close the incident of last night|update incident|pagerduty_update_incident
Who is on call this week?|list on call shifts|pagerduty_list_on_call_shift
Bill Acme for March|create stripe invoice|stripe_create_invoice
End Bob's subscription|delete subscription|stripe_delete_subscription
Lower the price of the blue mug|update shopify product|shopify_update_product
Where is order 1001?|get order shopify|shopify_get_order
Add Linus to our contacts|hubspot contact create|hubspot_create_contact
Which deals close this month?|list deals|hubspot_list_deal
Will it rain tomorrow?|get weather forecast|weather_get_forecast
How do I drive to Lyon?|route maps get|maps_get_route
Make a playlist for running|create playlist spotify|spotify_create_playlist
`;

export const CATALOG_TASKS: readonly CatalogTask[] = TASKS.trim()
  .split("\n")
  .map((line) => {
    const [wish = "", query = "", tool = ""] = line.split("|");
    return { wish, query, tool };
  });
