-- Requests of crawlers for wrk: pages in all formats, conditional requests, the index, unknown numbers.
-- The arguments after "--" are the paths of pages without their extension. load.py sets PAGE_ETAG.

local pages, etag = {}, os.getenv("PAGE_ETAG")

function init(args)
  for place = 1, #args do
    pages[place] = args[place]
  end
  math.randomseed(tonumber(tostring({}):match("0x(%x+)"), 16))
end

function request()
  local headers = { Host = "testserver", ["Accept-Encoding"] = "gzip" }
  local draw, page = math.random(), pages[math.random(#pages)]
  if draw < 0.10 then
    return wrk.format("GET", "/sitemap.xml", headers)
  elseif draw < 0.50 then
    return wrk.format("GET", page .. ".xml.gz", headers)
  elseif draw < 0.70 then
    return wrk.format("GET", page .. ".xml", headers)
  elseif draw < 0.75 then
    return wrk.format("GET", page .. ".txt", headers)
  elseif draw < 0.95 then
    headers["If-None-Match"] = etag
    return wrk.format("GET", pages[1] .. ".xml", headers)
  end
  return wrk.format("GET", "/sitemap-articles-123456789.xml", headers)
end

local codes = {}

function response(status)
  codes[status] = (codes[status] or 0) + 1
  counts = ""
  for code, count in pairs(codes) do
    counts = counts .. code .. ":" .. count .. " "
  end
end

local threads = {}

function setup(thread)
  table.insert(threads, thread)
end

function done(summary, latency)
  for _, thread in ipairs(threads) do
    print("statuses " .. (thread:get("counts") or ""))
  end
  local errors = summary.errors
  print(string.format("requests %d, errors: connect %d, read %d, write %d, timeout %d",
    summary.requests, errors.connect, errors.read, errors.write, errors.timeout))
  print(string.format("ms: median %.1f, p99 %.1f, longest %.1f",
    latency:percentile(50) / 1e3, latency:percentile(99) / 1e3, latency.max / 1e3))
end
