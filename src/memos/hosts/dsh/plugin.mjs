/**
 * MemOS in DeepSeek Harness, written by `memos hosts install dsh`; `memos hosts uninstall dsh` takes it out.
 *
 * It writes what is said and done in a session into a journal (the harness packs its own log), and hands the events to the hook
 * command of MemOS, which reads that journal for whatever it was not told. Nothing here decides what is remembered, and nothing
 * that goes wrong here stops the harness.
 */
import { spawn } from 'node:child_process'
import { randomUUID } from 'node:crypto'
import { appendFileSync, mkdirSync } from 'node:fs'
import { dirname, join } from 'node:path'

export const name = 'memos'

const PATIENCE = 15_000 // ms of one hook; it ends well before by itself
const DRAIN = 4_500 // ms at the end; the harness grants 5 s
const MOST_ANSWER = 1 << 20
const OWN_TOOLS = 'mcp__memos__'
const SUBAGENTS = new Set(['subagent', 'subagent_fork'])
const ASIDE = new Set(['command', 'description', 'timeoutMs', 'run_in_background'])

/** Mount the plugin. `config`: {command: words of the hook, journal: the folder of the journals}. */
export function apply(ctx, config) {
  if (['off', '0', 'false', 'no'].includes((process.env.MEMOS_HOOKS ?? '').toLowerCase())) return
  const sessions = new Map()
  const say = (what) => ctx.logger?.warn?.(`memos: ${what}`)

  /** The record of a session; a sub-agent's has the record of the session it works for as `root`. */
  function known(session) {
    const header = session?.header
    if (header === undefined) return undefined
    const found = sessions.get(header.id)
    if (found !== undefined) return found
    let record
    if (header.origin === 'subagent') {
      const parent = sessions.get(header.parentSession)
      if (parent === undefined) return undefined
      const root = parent.root ?? parent
      record = { name: header.id.replace(/[^A-Za-z0-9]/g, ''), root, parent, runs: 0 }
      again(record)
    } else {
      const path = join(config.journal, `${header.id.replace(/[^A-Za-z0-9._-]/g, '_').slice(0, 150)}.jsonl`)
      record = {
        id: header.id, cwd: header.cwd ?? process.cwd(), path, calls: new Map(), queue: Promise.resolve(),
        prompt: '', said: '', begun: '', children: [], ended: new Set(), over: false,
      }
    }
    sessions.set(header.id, record)
    return record
  }

  /** A sub-agent that is asked again later is another run, with a journal of its own. */
  function again(record) {
    record.id = record.runs > 1 ? `${record.name}x${record.runs}` : record.name
    record.path = join(record.root.path.slice(0, -'.jsonl'.length), 'subagents', `agent-${record.id}.jsonl`)
    record.calls = new Map()
    record.asked = false
  }

  function journal(record, line) {
    try {
      mkdirSync(dirname(record.path), { recursive: true, mode: 0o700 })
      const told = { timestamp: new Date().toISOString(), uuid: randomUUID(), promptId: record.prompt, ...line }
      appendFileSync(record.path, `${JSON.stringify(told)}\n`, { mode: 0o600 })
    } catch (error) {
      say(`the journal cannot be written (${error.code ?? error.name})`)
    }
  }

  /** Run the hook behind the ones before it of this session; what it has for the agent, or nothing. */
  function hook(record, event, fields = {}) {
    const told = {
      session_id: record.id, transcript_path: record.path, cwd: record.cwd, hook_event_name: event,
      prompt_id: record.prompt, ...fields,
    }
    const answer = record.queue.then(() => run(config.command, told, say))
    record.queue = answer.then(() => {}, () => {})
    return answer.catch(() => '')
  }

  ctx.on('agent/session-start', ({ agent, source }) => {
    const record = known(agent.session)
    if (record === undefined || record.root !== undefined) return
    void hook(record, 'SessionStart', { source }).then((context) => { record.begun = context })
  })

  ctx.on('agent/pre-step', async ({ agent, messages, signal }, next) => {
    const decision = await next()
    const record = known(agent.session)
    const asked = messages.filter((message) => message.source?.kind === 'user')
    if (record === undefined || asked.length === 0 || decision.kind !== 'enter') return decision
    if (record.root !== undefined) return decision
    const prompt = asked.map((message) => textOf(message.content)).join('\n\n')
    record.prompt = String(asked[0].id ?? randomUUID())
    record.said = ''
    journal(record, { type: 'user', message: { role: 'user', content: prompt } })
    const context = await unlessAborted(hook(record, 'UserPromptSubmit', { prompt }), signal)
    const block = context || record.begun // what is known of the prompt holds what is known of the project
    record.begun = ''
    return block ? { ...decision, messages: [...decision.messages, told(block)] } : decision
  })

  ctx.on('tools/post-execute', async (exec, result, next) => {
    const decision = await next()
    const record = known(exec.agent?.session)
    if (record === undefined || record.root !== undefined || exec.parent !== undefined) return decision
    if (exec.name.startsWith(OWN_TOOLS)) return decision
    const error = failure(exec.name, result.content, result.isError)
    if (error === undefined) return decision
    const { tool, input } = plain(exec.name, exec.arguments)
    const fields = { tool_name: tool, tool_input: input, tool_use_id: exec.callId, error }
    const context = await unlessAborted(hook(record, 'PostToolUseFailure', fields), exec.signal)
    if (!context) return decision
    return { ...decision, additionalContexts: [...(decision.additionalContexts ?? []), told(context)] }
  })

  ctx.on('session/event', (session, event) => {
    const record = known(session)
    if (record === undefined) return
    try {
      if (event.type === 'user/message' && record.root !== undefined && !record.asked) task(record, event.data)
      else if (event.type === 'assistant/message') spoken(record, event.data.message)
      else if (event.type === 'tool/result') answered(record, event.data)
      else if (event.type === 'turn/end' && record.root === undefined && record.prompt) {
        void hook(record, 'Stop', record.said ? { last_assistant_message: record.said } : {})
      }
    } catch (error) {
      say(`an event could not be read (${error.name})`)
    }
  })

  function task(record, message) {
    if (message.source?.kind !== 'user') return
    record.asked = true
    journal(record, { type: 'user', isSidechain: true, message: { role: 'user', content: textOf(message.content) } })
  }

  function spoken(record, message) {
    const content = []
    for (const block of message.content) {
      if (block.type === 'text' && block.text.trim()) content.push({ type: 'text', text: block.text })
      else if (block.type === 'tool-call') {
        const { tool, input } = plain(block.name, parsed(block.arguments))
        record.calls.set(block.id, block.name)
        content.push({ type: 'tool_use', id: block.id, name: tool, input })
      }
    }
    const texts = content.filter((block) => block.type === 'text').map((block) => block.text)
    if (texts.length > 0) record.said = texts.join('\n')
    if (content.length > 0) {
      journal(record, { type: 'assistant', isSidechain: record.root !== undefined, message: { role: 'assistant', content } })
    }
  }

  function answered(record, data) {
    const block = data.message.content.find((one) => one.type === 'tool-result')
    if (block === undefined) return
    const tool = record.calls.get(block.toolCallId) ?? ''
    record.calls.delete(block.toolCallId)
    const aborted = /ABORT/i.test(data.error?.code ?? data.error?.name ?? '')
    const error = aborted ? 'Interrupted by user' : failure(tool, block.content, block.isError)
    const line = {
      type: 'user', isSidechain: record.root !== undefined,
      message: {
        role: 'user',
        content: [{
          type: 'tool_result', tool_use_id: block.toolCallId,
          content: error ?? textOf(block.content), is_error: error !== undefined,
        }],
      },
    }
    if (SUBAGENTS.has(tool) && record.root === undefined) {
      const child = record.children.shift()
      // one that goes on is reported when it has ended
      if (child !== undefined && record.ended.has(child)) line.toolUseResult = { agentId: child }
    }
    journal(record, line)
  }

  ctx.on('subagent/start', (info) => {
    const record = known(ctx.get('agents')?.get(info.id)?.session)
    if (record?.root === undefined) return
    record.runs += 1
    if (record.runs > 1) again(record)
    if (record.parent === record.root) record.root.children.push(record.id)
  })

  ctx.on('subagent/end', (info) => {
    const record = sessions.get(info.id)
    if (record?.root === undefined) return
    record.root.ended.add(record.id)
    void hook(record.root, 'SubagentStop', {
      agent_id: record.id, agent_type: info.provider, agent_transcript_path: record.path,
      last_assistant_message: textOf(info.lastAssistantMessage ?? []),
    })
  })

  function over(record) {
    if (record.root !== undefined || record.over) return
    record.over = true
    void hook(record, 'SessionEnd', { reason: 'other' })
  }

  ctx.on('session/disposed', (session) => {
    const record = sessions.get(session.header.id)
    if (record === undefined) return
    over(record)
    if (record.root !== undefined) sessions.delete(session.header.id)
    else void record.queue.then(() => sessions.delete(session.header.id))
  })

  ctx.effect(() => async () => {
    for (const record of sessions.values()) over(record)
    const left = [...sessions.values()].map((record) => record.queue)
    let timer
    const late = new Promise((resolve) => { timer = setTimeout(resolve, DRAIN) })
    await Promise.race([Promise.all(left), late])
    clearTimeout(timer)
  }, 'memos: end of the sessions')
}

/** Run a hook command with an event on its stdin. Never rejects; what it complains of is said. */
function run(command, event, say) {
  return new Promise((resolve) => {
    let out = ''
    let complaint = ''
    let child
    try {
      child = spawn(command[0], command.slice(1), {
        stdio: ['pipe', 'pipe', 'pipe'], windowsHide: true,
        detached: process.platform !== 'win32', // what interrupts the harness does not interrupt a report
      })
    } catch (error) {
      say(`the hook cannot be started (${error.code ?? error.name})`)
      resolve('')
      return
    }
    const timer = setTimeout(() => child.kill('SIGKILL'), PATIENCE)
    child.on('error', (error) => {
      clearTimeout(timer)
      say(`the hook cannot be started (${error.code ?? error.name}): memos hosts doctor dsh`)
      resolve('')
    })
    child.stdout.setEncoding('utf8').on('data', (piece) => { if (out.length < MOST_ANSWER) out += piece })
    child.stderr.setEncoding('utf8').on('data', (piece) => { complaint = (complaint + piece).slice(-500) })
    child.on('close', () => {
      clearTimeout(timer)
      if (complaint.trim()) say(complaint.trim().split('\n').at(-1))
      resolve(contextIn(out))
    })
    child.stdin.on('error', () => {})
    child.stdin.end(JSON.stringify(event))
  })
}

function contextIn(out) {
  try {
    const context = JSON.parse(out).hookSpecificOutput.additionalContext
    return typeof context === 'string' ? context : ''
  } catch {
    return ''
  }
}

/** What was awaited, or nothing once the turn is aborted. */
function unlessAborted(answer, signal) {
  if (signal === undefined) return answer
  if (signal.aborted) return ''
  return new Promise((resolve) => {
    const stop = () => resolve('')
    signal.addEventListener('abort', stop, { once: true })
    answer.then((context) => {
      signal.removeEventListener('abort', stop)
      resolve(context)
    })
  })
}

/** A message for the model that nobody takes for the user's. */
function told(text) {
  return {
    id: randomUUID(), role: 'user', content: [{ type: 'text', text }],
    source: { kind: 'plugin', plugin: 'memos' },
  }
}

function textOf(content) {
  if (typeof content === 'string') return content
  return content.filter((block) => block.type === 'text').map((block) => block.text).join('\n')
}

function parsed(given) {
  if (typeof given !== 'string') return given
  try {
    return given ? JSON.parse(given) : {}
  } catch {
    return given
  }
}

/** A call by the names that MemOS compares calls by. */
function plain(tool, input) {
  if (SUBAGENTS.has(tool)) return { tool: 'Agent', input }
  if (tool !== 'bash' || typeof input?.command !== 'string') return { tool, input }
  const only = Object.keys(input).every((key) => ASIDE.has(key))
  return { tool: 'Bash', input: only ? { command: input.command } : input }
}

/** Why a call failed, or undefined. A command that ended badly is no error to the harness: its last line tells. */
function failure(tool, content, isError) {
  const text = textOf(content)
  if (isError) return text || 'failed'
  const code = tool === 'bash' ? /(?:^|\n)\[exit code: (-?\d+)\]\s*$/.exec(text) : null
  return code === null ? undefined : `Exit code ${code[1]}\n${text.slice(0, code.index).trim()}`.trim()
}
