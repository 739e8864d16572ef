// Plays OpenClaw for its plugin: takes one JSON command a line, hands it to what the plugin registered, answers with one line.
//   node openclaw_driver.mjs PLUGIN/index.js

import readline from "node:readline";

const plugin = (await import(`file://${process.argv[2]}`)).default;
const world = { hooks: {}, tools: {}, services: [], middleware: null, capability: null, log: [] };
const note = (level) => (message) => world.log.push(`${level}: ${message}`);

function api(config) {
  return {
    pluginConfig: config,
    logger: { info: note("info"), warn: note("warn"), error: note("error") },
    on: (name, handler) => ((world.hooks[name] ??= []), world.hooks[name].push(handler)),
    registerTool: (factory, options) => (world.tools[options.name] = factory),
    registerMemoryCapability: (capability) => (world.capability = capability),
    registerAgentToolResultMiddleware: (handler) => (world.middleware = handler),
    registerService: (service) => world.services.push(service),
  };
}

const told = (value) => JSON.parse(JSON.stringify(value ?? null));
const commands = {
  register({ config }) {
    Object.assign(world, { hooks: {}, tools: {}, services: [] });
    const result = plugin.register(api(config));
    const { hooks, services } = world; // OpenClaw registers a plugin several times, and takes some things from the last
    Object.assign(world, { hooks: {}, tools: {}, services: [] });
    plugin.register(api(config));
    Object.assign(world, { hooks, services });
    return { sync: result === undefined, hooks: Object.keys(world.hooks).sort(), tools: Object.keys(world.tools), id: plugin.id };
  },
  section: () => world.capability.promptBuilder({ availableTools: new Set() }),
  async hook({ name, event, ctx, late }) {
    const given = late ? { ...ctx, hookInvocation: { assertActive: () => { throw new Error("too late"); } } } : ctx;
    const start = performance.now();
    const results = [];
    for (const handler of world.hooks[name] ?? []) results.push(await handler(event, given));
    return { result: told(results.find((one) => one !== undefined)), ms: performance.now() - start };
  },
  async middleware({ event, ctx }) {
    return told(await world.middleware(event, ctx));
  },
  async tool({ name, args, ctx }) {
    const made = world.tools[name](ctx);
    try {
      return { result: told(await made.execute("call_1", args)), label: made.label };
    } catch (error) {
      return { error: error.message };
    }
  },
  async service({ what }) {
    for (const service of world.services) await service[what]({ stateDir: "/nowhere" });
    return null;
  },
  wait: ({ ms }) => new Promise((yes) => setTimeout(yes, ms, null)),
  log: () => world.log,
};

for await (const line of readline.createInterface({ input: process.stdin })) {
  const { does, ...rest } = JSON.parse(line);
  let answer;
  try {
    answer = { ok: await commands[does](rest) };
  } catch (error) {
    answer = { broke: `${error.name}: ${error.message}` };
  }
  process.stdout.write(`${JSON.stringify(answer)}\n`);
}
process.exit(0);
